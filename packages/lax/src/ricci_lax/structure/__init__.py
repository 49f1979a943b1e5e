"""What every other room stands on: shapes, constants, copies, and what operands are accepted."""

from ._copy import *
from ._filling import *
from ._identity import *
from ._literals import *
from ._shapes import *

"""The base of the other modules: shapes, constants, copies, and checks of operand types."""

from ._broadcasting import *
from ._filling import *
from ._identity import *
from ._literals import *
from ._names import *
from ._reshaping import *
from ._resharding import *
from ._transposing import *

"""Making arrays from values, describing and exchanging them, and their dtypes."""

from ._array_info import *
from ._creation import *
from ._dtypes import *
from ._filling import *
from ._interchange import *
from ._printing import *

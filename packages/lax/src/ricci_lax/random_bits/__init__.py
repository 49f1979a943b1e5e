"""Random bits: Threefry, and the compiler's generators."""

from ._generators import *
from ._threefry import *

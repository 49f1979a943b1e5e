"""Random bits: Threefry, and the generators that are part of the compiler."""

from ._generators import *
from ._threefry import *

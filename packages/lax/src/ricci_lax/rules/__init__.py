"""The kinds of rules that this package adds to those of a primitive."""

from ._checkify import *
from ._saving import *

"""The kinds of rules that this package declares, for the blocks of primitives to give."""

from ._checkify import *

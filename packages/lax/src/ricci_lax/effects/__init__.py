"""Side effects: their kinds, and the tokens that order them."""

from ._tokens import *

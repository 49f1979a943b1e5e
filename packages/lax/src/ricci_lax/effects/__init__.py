"""Side effects: their kinds, and the tokens that order them."""

from ._kinds import *
from ._tokens import *

"""Side effects: the kinds there are, and the tokens that order them."""

from ._kinds import *
from ._tokens import *

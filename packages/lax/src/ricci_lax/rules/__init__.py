"""The kinds of rules that this package declares, for the blocks of primitives to give."""

# Importing these modules declares their kinds.
from . import _law_examples as _law_examples
from . import _reading as _reading
from . import _singular as _singular
from ._checkify import *

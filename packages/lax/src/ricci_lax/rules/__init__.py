"""The kinds of rules that this package adds to those of a primitive."""

# Importing these modules declares their kinds.
from . import _law_examples as _law_examples
from . import _padding as _padding
from . import _reading as _reading
from . import _singular as _singular
from ._checkify import *
from ._saving import *

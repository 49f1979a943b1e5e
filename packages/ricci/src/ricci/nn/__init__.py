"""Functions for neural networks: activations, normalization, attention, initializers."""

import typing as _typing

from ricci import _absent
from ricci_ir import guard_public as _guard_public
from ricci_nn import *

# isort: split
from ricci.nn import initializers as initializers  # not ricci_nn's, which came with the star

_guard_public(globals(), "initializers")

if not _typing.TYPE_CHECKING:  # it would tell checkers that every name is there
    __getattr__ = _absent.or_advise(__name__)

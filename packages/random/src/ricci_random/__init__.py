"""Random numbers that are determined by keys.

``key`` (or ``PRNGKey``) creates a key from a seed; ``split`` and ``fold_in`` derive new keys from
it. A sampler takes a key and draws numbers of a distribution.

The package has three parts: ``keys``, ``generators``, which map keys to random bits, and
``samplers``.
"""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_ir import primitives as _primitives

from . import _key_roles as _key_roles  # says which primitives use keys up
from . import generators  # registers the generators by their names
from ._index import MODULES as _MODULES
from .keys import *

if _typing.TYPE_CHECKING:
    from .samplers import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES)

_primitives.indices.append(_MODULES)

"""Random numbers that are determined by keys.

``key`` (or ``PRNGKey``) creates a key from a seed; ``split`` and ``fold_in`` derive new keys from
it. A sampler takes a key and draws numbers of a distribution.

The package has three parts: ``keys``, ``generators``, which map keys to random bits, and
``samplers``.
"""

from ricci_ir import export_names as _export_names

from . import _key_roles as _key_roles  # says which primitives use keys up
from . import generators  # registers the generators by their names
from .keys import *
from .samplers import *

_export_names(globals())

"""Random numbers from keys: the same key always gives the same numbers.

``key`` (or ``PRNGKey``) makes a key from a seed; ``split`` and ``fold_in`` derive further keys from
it. A sampler takes a key and draws numbers of a distribution.

The package has three rooms: ``keys``, ``generators``, which turn keys into random bits, and
``samplers``.
"""

from ricci_ir import export_names as _export_names

from . import generators  # registers the generators by their names
from .keys import *
from .samplers import *

_export_names(globals())

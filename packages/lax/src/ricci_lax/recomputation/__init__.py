"""Recomputation in segments, for ``fit_memory``. Imported when it is first used."""

from ricci_ir import export_names as _export_names

from ._batch_pieces import *
from ._bodies import *
from ._liveness import *
from ._operations import *
from ._piece_rules import *
from ._segments import *

_export_names(globals())

"""``roll``: compile equal pieces of a traced function, such as layers, once, as a loop."""

from ricci_ir import export_names as _export_names
from ricci_ir import rolled_layers as rolled_layers

from ._recomputing import minimum_cut as minimum_cut
from ._report import *
from ._roll import *
from ._rows import rows_p as rows_p

_export_names(globals())

"""The order of arrays' elements in memory."""

from ricci_ir import export_names as _export_names
from ricci_parallel import with_layout_constraint as with_layout_constraint
from ricci_xla import Format as Format
from ricci_xla import Layout as Layout

_export_names(globals())

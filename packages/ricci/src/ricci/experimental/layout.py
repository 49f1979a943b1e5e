"""The order of arrays' elements in memory."""

from ricci_ir import guard_public as _guard_public
from ricci_parallel import with_layout_constraint as with_layout_constraint
from ricci_xla import Format as Format
from ricci_xla import Layout as Layout

_guard_public(globals())

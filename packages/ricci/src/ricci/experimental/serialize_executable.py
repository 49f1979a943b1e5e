"""Compiled functions as bytes, which another process loads without compiling."""

from ricci_ir import guard_public as _guard_public
from ricci_xla.serialized import deserialize_and_load as deserialize_and_load
from ricci_xla.serialized import serialize as serialize

_guard_public(globals())

"""Attributes of operations that XLA reads."""

from ricci_ir import guard_public as _guard_public
from ricci_lax import fuse_limit as fuse_limit
from ricci_lax import must_fuse_call as must_fuse_call
from ricci_lax import set_xla_metadata as set_xla_metadata
from ricci_lax import xla_metadata_call as xla_metadata_call
from ricci_lax import xla_metadata_call2 as xla_metadata_call2

_guard_public(globals())

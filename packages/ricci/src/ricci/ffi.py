"""Calls of compiled functions from programs: registering them, and calling them by name."""

from ricci_compat.ffi import build_ffi_lowering_function as build_ffi_lowering_function
from ricci_compat.ffi import ffi_lowering as ffi_lowering
from ricci_ir import abstract_token as abstract_token
from ricci_ir import guard_public as _guard_public
from ricci_lax.ffi import ffi_call as ffi_call
from ricci_xla.ffi import *

_guard_public(globals())

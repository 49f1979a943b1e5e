"""Measurements of instructions in profiles. See ``ricci_xla.profiler``."""

from ricci_ir import guard_public as _guard_public
from ricci_xla.profiler import get_profiled_instructions_proto as get_profiled_instructions_proto

_guard_public(globals())

"""Clients of the runtime, and devices."""

from ricci_ir import clear_caches as clear_in_memory_compilation_cache
from ricci_ir import guard_public as _guard_public
from ricci_xla import backend_xla_version as backend_xla_version
from ricci_xla import backends as backends
from ricci_xla import clear_backends as clear_backends
from ricci_xla import get_backend as get_backend
from ricci_xla import get_compile_options as get_compile_options
from ricci_xla import get_default_device as get_default_device
from ricci_xla import register_backend_cache as register_backend_cache
from ricci_xla import register_backend_factory as register_backend_factory

_guard_public(globals())

"""The structure of saved pytrees. See ``ricci_storage``."""

from types import ModuleType as PickleModule

from ricci_export import register_pytree_node_serialization as register_pytree_node_serialization
from ricci_ir import guard_public as _guard_public
from ricci_storage import PyTreeFuture as PyTreeFuture
from ricci_storage import deserialize_pytreedef as deserialize_pytreedef
from ricci_storage import logger as logger
from ricci_storage import serialize_pytreedef as serialize_pytreedef

_guard_public(globals())

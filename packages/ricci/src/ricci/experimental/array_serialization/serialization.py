"""Writing arrays while the program goes on. See ``ricci_storage``."""

from ricci_ir import guard_public as _guard_public
from ricci_storage import AsyncManager as AsyncManager
from ricci_storage import BarrierTimeoutError as BarrierTimeoutError
from ricci_storage import GlobalAsyncCheckpointManager as GlobalAsyncCheckpointManager
from ricci_storage import GlobalAsyncCheckpointManagerBase as GlobalAsyncCheckpointManagerBase
from ricci_storage import async_deserialize as async_deserialize
from ricci_storage import async_serialize as async_serialize
from ricci_storage import is_remote_storage as is_remote_storage
from ricci_storage import logger as logger
from ricci_storage import run_deserialization as run_deserialization
from ricci_storage import run_serialization as run_serialization
from ricci_storage import zarr_spec as get_tensorstore_spec

_guard_public(globals())

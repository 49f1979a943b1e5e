"""Single arrays, and TensorStore's specifications of them. See ``ricci_storage``."""

import typing as _typing

from ricci_ir import guard_public as _guard_public
from ricci_ir import lazy_names as _lazy_names
from ricci_storage import async_deserialize as async_deserialize
from ricci_storage import async_serialize as async_serialize
from ricci_storage import combine_kvstores as combine_kvstores
from ricci_storage import estimate_read_memory_footprint as estimate_read_memory_footprint
from ricci_storage import get_tensorstore_spec as get_tensorstore_spec
from ricci_storage import is_tensorstore_spec_leaf as is_tensorstore_spec_leaf
from ricci_storage import logger as logger
from ricci_storage import merge_nested_ts_specs as merge_nested_ts_specs
from ricci_storage import run_deserialization as run_deserialization
from ricci_storage import run_serialization as run_serialization
from ricci_storage import verify_tensorstore_spec as verify_tensorstore_spec

_guard_public(globals())

# TensorStore's own classes: it is imported with the first file.
_load, _names = _lazy_names(
    globals(), {name: f"tensorstore:{name}" for name in ("Future", "Transaction")}
)


def __getattr__(name: str) -> _typing.Any:
    return _load(name)


def __dir__() -> list[str]:
    return _names()

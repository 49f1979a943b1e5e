"""The dialects of MLIR that jaxlib has bindings of, each a module that builds its operations."""

import typing as _typing

from ricci._borrowed import SOURCES as _SOURCES
from ricci_ir import export_names as _export_names
from ricci_ir import lazy_names as _lazy_names

_INSIDE = __name__.removeprefix("ricci.")

_export_names(globals())

if not _typing.TYPE_CHECKING:
    __getattr__, __dir__ = _lazy_names(
        globals(),
        {
            name.rpartition(".")[2]: source
            for name, source in _SOURCES.items()
            if name.startswith(f"{_INSIDE}.")
        },
    )
else:

    def __getattr__(name: str) -> _typing.Any: ...

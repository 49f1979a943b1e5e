"""Small libraries that show how models and optimizers are written with transformations.

They are imported on first access.
"""

import typing as _typing

from ricci_ir import lazy_names as _lazy_names

if _typing.TYPE_CHECKING:
    from . import optimizers as optimizers
    from . import stax as stax

__all__ = ["optimizers", "stax"]

if not _typing.TYPE_CHECKING:  # type checkers would accept every name
    __getattr__, __dir__ = _lazy_names(globals(), {name: f".{name}" for name in __all__})

"""Ricci under the name ``jax``, for programs written for JAX.

Beside what ``ricci`` itself holds there is one module for each of its namespaces, imported when it
is first touched.
"""

import pkgutil
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ricci
from ricci import *

from . import _installation
from . import _src as _src
from .version import __version__ as __version__
from .version import __version_info__ as __version_info__

if TYPE_CHECKING:
    from . import ad_checkpoint as ad_checkpoint
    from . import api_util as api_util

_FOLDER = str(Path(__file__).parent)

_installation.warn_of_others()


def __getattr__(name: str) -> Any:
    if not name.startswith("__") and find_spec(f"jax.{name}") is not None:
        return import_module(f"jax.{name}")
    try:
        return getattr(ricci, name)
    except AttributeError:
        raise AttributeError(f"module 'jax' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    inside = (info.name for info in pkgutil.iter_modules([_FOLDER]))
    return sorted({*globals(), *(name for name in inside if not name.startswith("_"))})

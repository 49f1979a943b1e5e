"""Ricci under the name ``jax``, for programs written for JAX.

Beside what ``ricci`` itself holds there is one module for each of its namespaces, imported when it
is first touched.
"""

from . import _modules

__path__ = [*__path__, _modules.path_entry("")]

# isort: split
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

import ricci
from ricci_ir import api_boundary, name_tracers, public_names, register_internal_module
from ricci_numpy.authoring import array_namespaces

from . import _contents, _installation
from .version import __version__ as __version__
from .version import __version_info__ as __version_info__

_installation.warn_of_others()
register_internal_module(__name__)
array_namespaces.append(f"{__name__}.numpy")
name_tracers(f"{__name__}.core")


if TYPE_CHECKING:
    from ricci import *
else:  # it would tell checkers that every name is there
    # The names that Ricci has loaded; the others come with their first use, as in Ricci.
    globals().update({name: vars(ricci)[name] for name in ricci.__all__ if name in vars(ricci)})
    _late_name, _ = _contents.late_names(globals(), ricci)

    @api_boundary
    def __getattr__(name: str) -> Any:
        if name == "__all__":  # of ``from jax import *``: JAX has none, but all its names are there
            return [*ricci.__all__, *(n for n, v in globals().items() if _is_module(n, v))]
        if not name.startswith("__") and find_spec(f"jax.{name}") is not None:
            return import_module(f"jax.{name}")
        return _late_name(name)

    def _is_module(name: str, value: object) -> bool:
        return isinstance(value, ModuleType) and name[0] != "_" and name != "ricci"


def __dir__() -> list[str]:
    inside = _contents.modules_inside(__path__)
    modules = [name for name in inside if not name.startswith("_")]
    return public_names({**globals(), "__all__": vars(ricci)["__all__"]}, modules)

"""Statistics of samples, and distributions, each a module of its functions."""

import sys
from importlib.machinery import ModuleSpec as _ModuleSpec
from types import ModuleType as _ModuleType

from ricci_ir import guard_public as _guard_public
from ricci_scipy.stats import *
from ricci_scipy.stats import __all__ as _names


def _guarded(distribution: _ModuleType) -> _ModuleType:
    """The module of a distribution under the name that it has here, known for imports."""
    name = f"{__name__}.{distribution.__name__.rpartition('.')[2]}"
    module = _ModuleType(name, distribution.__doc__)
    module.__spec__ = _ModuleSpec(name, None)
    vars(module).update({name: getattr(distribution, name) for name in distribution.__all__})
    _guard_public(vars(module))
    sys.modules[name] = module
    return module


for _name in _names:
    if isinstance(globals()[_name], _ModuleType):
        globals()[_name] = _guarded(globals()[_name])
_guard_public(globals(), *_names, unlisted={"ModeResult"})

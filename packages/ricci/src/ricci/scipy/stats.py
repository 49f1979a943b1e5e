"""The public names of ``ricci_scipy.stats``, each a boundary where internal frames end."""

import sys
from types import ModuleType

from ricci_ir import guard_public
from ricci_scipy.stats import *  # noqa: F403
from ricci_scipy.stats import __all__ as __all__


def _guarded(distribution: ModuleType) -> ModuleType:
    """The module of a distribution under the name that it has here, known for imports."""
    name = f"{__name__}.{distribution.__name__.rpartition('.')[2]}"
    module = ModuleType(name, distribution.__doc__)
    names = distribution.__all__
    vars(module).update({n: getattr(distribution, n) for n in names}, __all__=names)
    guard_public(vars(module), names)
    sys.modules[name] = module
    return module


for _name in __all__:
    if isinstance(globals()[_name], ModuleType):
        globals()[_name] = _guarded(globals()[_name])
guard_public(globals(), __all__)

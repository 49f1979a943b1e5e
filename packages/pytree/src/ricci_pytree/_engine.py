"""The choice of the engine that flattens trees: jaxlib's if it is installed, else the Python one.

The environment variable ``RICCI_PYTREE_ENGINE`` (``cpp`` or ``python``) overrides the choice.
"""

import os
from typing import TYPE_CHECKING

from ._installation import explain_jaxlib

_VARIABLE = "RICCI_PYTREE_ENGINE"
_choice = os.environ.get(_VARIABLE, "")

if TYPE_CHECKING or _choice == "python":
    from . import _python_engine as engine
elif _choice == "cpp":
    from . import _cpp_engine as engine
elif _choice == "":
    try:
        from . import _cpp_engine as engine
    except Exception as error:
        # Only a missing jaxlib is not an error.
        name = error.name if type(error) is ModuleNotFoundError else None
        if name not in ("jaxlib", "jaxlib._jax"):
            raise explain_jaxlib(error) from error
        from . import _python_engine as engine
else:
    raise ValueError(f"{_VARIABLE} must be 'cpp' or 'python', found {_choice!r}")

engine_name: str = engine.name
DictKey = engine.DictKey
FlattenedIndexKey = engine.FlattenedIndexKey
GetAttrKey = engine.GetAttrKey
PyTreeDef = engine.PyTreeDef
PyTreeRegistry = engine.PyTreeRegistry
SequenceKey = engine.SequenceKey
all_leaves = engine.all_leaves
treedef_tuple = engine.treedef_tuple

"""The engine in C++, which is part of jaxlib; only its extension module is imported."""

import os

# jaxlib reads this variable when it is imported. Without it, new clients log to stderr.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from jaxlib._jax import pytree as _pytree  # pyright: ignore[reportMissingImports]

name = "cpp"

DictKey = _pytree.DictKey
FlattenedIndexKey = _pytree.FlattenedIndexKey
GetAttrKey = _pytree.GetAttrKey
PyTreeDef = _pytree.PyTreeDef
PyTreeRegistry = _pytree.PyTreeRegistry
SequenceKey = _pytree.SequenceKey
all_leaves = _pytree.all_leaves
treedef_tuple = _pytree.treedef_tuple

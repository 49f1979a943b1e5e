"""Pytrees: nested containers of arrays. See ``ricci_pytree``."""

from ricci_ir import guard_public as _guard_public
from ricci_pytree import DictKey as DictKey
from ricci_pytree import FlattenedIndexKey as FlattenedIndexKey
from ricci_pytree import GetAttrKey as GetAttrKey
from ricci_pytree import KeyEntry as KeyEntry
from ricci_pytree import KeyPath as KeyPath
from ricci_pytree import Partial as Partial
from ricci_pytree import PyTreeDef as PyTreeDef
from ricci_pytree import SequenceKey as SequenceKey
from ricci_pytree import all_leaves as all_leaves
from ricci_pytree import default_registry as default_registry
from ricci_pytree import flatten_one_level as flatten_one_level
from ricci_pytree import flatten_one_level_with_keys as flatten_one_level_with_keys
from ricci_pytree import is_tree_node as is_tree_node
from ricci_pytree import keystr as keystr
from ricci_pytree import register_dataclass as register_dataclass
from ricci_pytree import register_pytree_node as register_pytree_node
from ricci_pytree import register_pytree_node_class as register_pytree_node_class
from ricci_pytree import register_pytree_with_keys as register_pytree_with_keys
from ricci_pytree import register_pytree_with_keys_class as register_pytree_with_keys_class
from ricci_pytree import register_static as register_static
from ricci_pytree import tree_all as tree_all
from ricci_pytree import tree_broadcast as tree_broadcast
from ricci_pytree import tree_flatten as tree_flatten
from ricci_pytree import tree_flatten_with_path as tree_flatten_with_path
from ricci_pytree import tree_leaves_with_path as tree_leaves_with_path
from ricci_pytree import tree_map_with_path as tree_map_with_path
from ricci_pytree import tree_reduce as tree_reduce
from ricci_pytree import tree_reduce_associative as tree_reduce_associative
from ricci_pytree import tree_structure as tree_structure
from ricci_pytree import tree_transpose as tree_transpose
from ricci_pytree import tree_unflatten as tree_unflatten
from ricci_pytree import treedef_children as treedef_children
from ricci_pytree import treedef_is_leaf as treedef_is_leaf
from ricci_pytree import treedef_tuple as treedef_tuple

from ._tree_map import tree_leaves as tree_leaves
from ._tree_map import tree_map as tree_map

_guard_public(globals())

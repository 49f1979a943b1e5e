"""Pytrees: flatten nested Python containers, map over them, and register classes as containers."""

from . import tree as tree
from ._argument_paths import argument_paths as argument_paths
from ._argument_paths import read_signature as read_signature
from ._engine import DictKey as DictKey
from ._engine import FlattenedIndexKey as FlattenedIndexKey
from ._engine import GetAttrKey as GetAttrKey
from ._engine import KeyEntry as KeyEntry
from ._engine import KeyPath as KeyPath
from ._engine import PyTreeDef as PyTreeDef
from ._engine import PyTreeRegistry as PyTreeRegistry
from ._engine import SequenceKey as SequenceKey
from ._engine import engine_name as engine_name
from ._engine import keystr as keystr
from ._errors import on_errors as on_errors
from ._flattening import all_leaves as all_leaves
from ._flattening import build_tree as build_tree
from ._flattening import flatten_one_level as flatten_one_level
from ._flattening import flatten_one_level_with_keys as flatten_one_level_with_keys
from ._flattening import generate_key_paths as generate_key_paths
from ._flattening import is_tree_node as is_tree_node
from ._flattening import tree_flatten as tree_flatten
from ._flattening import tree_flatten_with_path as tree_flatten_with_path
from ._flattening import tree_leaves as tree_leaves
from ._flattening import tree_leaves_with_path as tree_leaves_with_path
from ._flattening import tree_structure as tree_structure
from ._flattening import tree_unflatten as tree_unflatten
from ._flattening import treedef_children as treedef_children
from ._flattening import treedef_is_leaf as treedef_is_leaf
from ._flattening import treedef_tuple as treedef_tuple
from ._installation import check_jaxlib as check_jaxlib
from ._installation import explain_jaxlib as explain_jaxlib
from ._mapping import Unspecified as Unspecified
from ._mapping import tree_all as tree_all
from ._mapping import tree_broadcast as tree_broadcast
from ._mapping import tree_map as tree_map
from ._mapping import tree_map_with_path as tree_map_with_path
from ._mapping import tree_reduce as tree_reduce
from ._mapping import tree_reduce_associative as tree_reduce_associative
from ._mapping import tree_transpose as tree_transpose
from ._partial import Partial as Partial
from ._prefix import PrefixError as PrefixError
from ._prefix import broadcast_prefix as broadcast_prefix
from ._prefix import flatten_axes as flatten_axes
from ._prefix import flatten_prefix as flatten_prefix
from ._prefix import prefix_errors as prefix_errors
from ._registry import default_registry as default_registry
from ._registry import none_leaf_registry as none_leaf_registry
from ._registry import register_dataclass as register_dataclass
from ._registry import register_pytree_node as register_pytree_node
from ._registry import register_pytree_node_class as register_pytree_node_class
from ._registry import register_pytree_with_keys as register_pytree_with_keys
from ._registry import register_pytree_with_keys_class as register_pytree_with_keys_class
from ._registry import register_static as register_static
from ._registry import registered_nodes as registered_nodes

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PrefixError",
    "PyTreeDef",
    "PyTreeRegistry",
    "SequenceKey",
    "Unspecified",
    "all_leaves",
    "argument_paths",
    "broadcast_prefix",
    "build_tree",
    "check_jaxlib",
    "default_registry",
    "engine_name",
    "explain_jaxlib",
    "flatten_axes",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "flatten_prefix",
    "generate_key_paths",
    "is_tree_node",
    "keystr",
    "none_leaf_registry",
    "on_errors",
    "prefix_errors",
    "read_signature",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "registered_nodes",
    "tree",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

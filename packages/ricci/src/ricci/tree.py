"""Pytrees under short names. See ``ricci_pytree``."""

from ricci_ir import guard_public as _guard_public
from ricci_pytree.tree import all as all
from ricci_pytree.tree import broadcast as broadcast
from ricci_pytree.tree import flatten as flatten
from ricci_pytree.tree import flatten_with_path as flatten_with_path
from ricci_pytree.tree import leaves_with_path as leaves_with_path
from ricci_pytree.tree import map_with_path as map_with_path
from ricci_pytree.tree import reduce as reduce
from ricci_pytree.tree import reduce_associative as reduce_associative
from ricci_pytree.tree import static as static
from ricci_pytree.tree import structure as structure
from ricci_pytree.tree import transpose as transpose
from ricci_pytree.tree import unflatten as unflatten

from ._tree_map import leaves as leaves
from ._tree_map import map as map

_guard_public(globals())

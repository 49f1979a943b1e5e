"""``tree_leaves`` and ``tree_map`` with types of arrays, which ``ricci_pytree`` does not know."""

from typing import TYPE_CHECKING

if not TYPE_CHECKING:
    from ricci_pytree import tree_leaves as tree_leaves
    from ricci_pytree import tree_map as tree_map
else:
    from collections.abc import Callable
    from typing import Any, overload

    from ricci_ir import Array, ArrayTree

    type _IsLeaf = Callable[[Any], bool] | None

    @overload
    def tree_leaves(tree: ArrayTree, is_leaf: None = None) -> list[Array]: ...
    @overload
    def tree_leaves(tree: object, is_leaf: _IsLeaf = None) -> list[Any]: ...
    def tree_leaves(tree: object, is_leaf: _IsLeaf = None) -> list[Any]: ...

    # Where all leaves are arrays, and stay arrays, the result has the tree's type.
    @overload
    def tree_map[T: ArrayTree](
        f: Callable[[Array], Array], tree: T, *, is_leaf: _IsLeaf = None
    ) -> T: ...
    @overload
    def tree_map[K, R](
        f: Callable[[Array], R], tree: dict[K, Array], *, is_leaf: _IsLeaf = None
    ) -> dict[K, R]: ...
    @overload
    def tree_map[R](
        f: Callable[[Array], R], tree: list[Array], *, is_leaf: _IsLeaf = None
    ) -> list[R]: ...
    @overload
    def tree_map(f: Callable[[Any], Any], tree: object, *, is_leaf: _IsLeaf = None) -> Any: ...
    @overload
    def tree_map[T: ArrayTree](
        f: Callable[[Array, Array], Array], tree: T, second: T, /, *, is_leaf: _IsLeaf = None
    ) -> T: ...
    @overload
    def tree_map(
        f: Callable[[Any, Any], Any], tree: object, second: object, /, *, is_leaf: _IsLeaf = None
    ) -> Any: ...
    @overload
    def tree_map[T: ArrayTree](
        f: Callable[[Array, Array, Array], Array],
        tree: T,
        second: T,
        third: T,
        /,
        *,
        is_leaf: _IsLeaf = None,
    ) -> T: ...
    @overload
    def tree_map(
        f: Callable[[Any, Any, Any], Any],
        tree: object,
        second: object,
        third: object,
        /,
        *,
        is_leaf: _IsLeaf = None,
    ) -> Any: ...
    @overload
    def tree_map(
        f: Callable[..., Any],
        tree: object,
        second: object,
        third: object,
        fourth: object,
        /,
        *rest: object,
        is_leaf: _IsLeaf = None,
    ) -> Any: ...
    def tree_map(
        f: Callable[..., Any], tree: object, *rest: object, is_leaf: _IsLeaf = None
    ) -> object: ...


leaves = tree_leaves
map = tree_map

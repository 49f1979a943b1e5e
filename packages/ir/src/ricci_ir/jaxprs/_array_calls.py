"""A call of a user's function as a function of its arrays, for tools that trace it.

Arguments such as a library's model have leaves that are not arrays. ``jit`` refuses functions, and
makes a tracer of a number. The tools take such models as the libraries' own ``jit`` does.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from itertools import tee
from typing import Any

from ricci_ir._preserved import preserved
from ricci_ir._records import Record
from ricci_ir._static_values import exact_key
from ricci_ir._traceback_filtering import looks_like
from ricci_ir.types import argument_aval
from ricci_pytree import (
    PyTreeDef,
    argument_paths,
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_structure,
    tree_unflatten,
)

from ._shared_objects import Path, share_again, shared_objects
from ._staged_call import has_stages

__all__ = ["ArrayCall", "ArrayCalls", "array_call", "is_typed"]

_SCALARS = (bool, int, float, complex)
_CONTAINERS = (tuple, list, dict, OrderedDict, defaultdict, type(None))


class ArrayCall(Record):
    """The arguments of a call without its arrays.

    Attributes:
      tree: the structure of the arguments and keyword arguments.
      fixed: the leaves that are not traced, with their positions in ascending order: those that are
        not arrays, such as a model's functions, and Python numbers in objects of registered
        classes, such as a layer's rate of dropout. Functions that a library has jitted decide which
        numbers they trace, so that all their numbers are fixed.
      shared: the objects that occur more than once; see ``shared_objects``.
    """

    tree: PyTreeDef
    fixed: tuple[tuple[int, Any], ...]
    shared: tuple[tuple[Path, Path], ...] = ()

    @property
    def key(self) -> object:
        """An object that is equal for equal calls; it can be hashed if the fixed leaves can."""
        return self.tree, tuple((i, exact_key(x)) for i, x in self.fixed), self.shared

    def arguments(self, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments and keyword arguments with these arrays."""
        leaves = list(arrays)
        for i, leaf in self.fixed:
            # In ascending order of positions, so that each lands at its own.
            leaves.insert(i, leaf.copy() if isinstance(leaf, _Replayed) else leaf)
        arguments = tree_unflatten(self.tree, leaves)
        share_again(arguments, self.shared)
        return arguments

    def without_fixed(self, arrays: Sequence[Any]) -> tuple[Any, PyTreeDef]:
        """Return the arguments with ``None`` for the fixed leaves, and the structure of that."""
        leaves = list(arrays)
        for i, _ in self.fixed:
            leaves.insert(i, None)
        arguments = tree_unflatten(self.tree, leaves)
        return arguments, tree_structure(arguments)

    def select(self, values: Sequence[Any]) -> list[Any]:
        """Return the values that belong to the arrays, of one for each leaf."""
        positions = {i for i, _ in self.fixed}
        return [x for i, x in enumerate(values) if i not in positions]

    def results_and_state(
        self, fun: Callable[..., Any], arrays: Sequence[Any]
    ) -> tuple[object, list[Any]]:
        """Call a function, and return its results and the arrays that replace others in arguments.

        Such are the new weights of a model, which a library's own ``jit`` returns, and writes into
        the user's object. The objects of registered classes are copies here.
        """
        args, kwargs = self.arguments(arrays)
        nodes = list(filter(_is_object, _nodes((args, kwargs))))
        before = [tree_leaves(node) for node in nodes]
        lasting = [_same(tree_leaves(node), its) for node, its in zip(nodes, before, strict=True)]
        result = fun(*args, **kwargs)
        state: dict[int, Any] = {}  # an object may occur more than once
        for node, its, lasts in zip(nodes, before, lasting, strict=True):
            old = {*map(id, its)}
            if lasts:
                state.update((id(x), x) for x in tree_leaves(node) if id(x) not in old)
        return result, [x for x in state.values() if is_typed(x)]

    def run(self, tool: str, fun: Callable[..., Any], arrays: Sequence[Any]) -> object:
        """Call a function with these arrays.

        Args:
          tool: the tool's name; empty if changes of arguments may be lost.

        Returns:
          The results as a tree of arrays. Unflattening its structure gives the user's results, with
          their leaves that are not arrays.

        Raises:
          TypeError: if the function changes an object among its arguments. They are copies, so that
            the change would be lost. So would be changes of arrays in other objects, which the
            function refers to: the objects are as before then.
        """
        args, kwargs = self.arguments(arrays)
        nodes = _nodes((args, kwargs))
        before = [tree_leaves(node) for node in nodes]
        # Of a class that makes new leaves each time nothing can be said.
        lasting = [_same(tree_leaves(node), its) for node, its in zip(nodes, before, strict=True)]
        result = _call_without_state(tool, fun, args, kwargs) if tool else fun(*args, **kwargs)
        for i, node in enumerate(nodes):
            if tool and lasting[i] and not _same(tree_leaves(node), before[i]):
                path = argument_paths(args, kwargs, fun, is_leaf=_is_object)[i]
                raise TypeError(
                    f"{tool}: {_name_of(fun)} changes its argument {path} in place, which is a "
                    "copy, so that the change would be lost. Return what changes: with flax nnx, "
                    "split the model before (nnx.split), and merge it inside (nnx.merge)."
                )
        leaves, tree = tree_flatten(result)
        fixed = fixed_leaves(result, leaves)
        if not fixed:
            return result
        return _Results([x for i, x in enumerate(leaves) if i not in fixed], tree, fixed)


def _call_without_state(
    tool: str, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> object:
    """Call a function that must not replace arrays in objects that it refers to by tracers."""
    with preserved(fun) as objects:
        result = fun(*args, **kwargs)
        replaced = [name for name, _ in objects.replaced_arrays()]
        if not replaced:
            objects.keep()
    if replaced:
        raise TypeError(
            f"{tool}: {_name_of(fun)} changes arrays of objects that it refers to ({replaced[0]}"
            f"{f' and {len(replaced) - 1} more' if replaced[1:] else ''}), and the changes would "
            "be lost. Pass what changes as arguments, and return it: with keras, stateless_call of "
            "the model and stateless_apply of the optimizer."
        )
    return result


def _name_of(fun: Callable[..., Any]) -> str:
    return getattr(fun, "__name__", type(fun).__name__)


class ArrayCalls:
    """A function of arrays for each choice of a user's function's other leaves, made once.

    Args:
      tool: the tool's name, for messages; empty if changes of arguments may be lost.
      fun: the user's function.
      transform: a transformation of the functions of arrays, such as ``jit``.
    """

    def __init__(
        self,
        tool: str,
        fun: Callable[..., Any],
        transform: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None,
    ):
        self._tool: str = tool
        self._fun: Callable[..., Any] = fun
        self._transform = transform
        self._calls: dict[Any, Callable[..., Any]] = {}

    def of(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Return the function of arrays for a call's arguments, and the arrays."""
        call, arrays = array_call(self._fun, args, kwargs)
        key = call.key
        try:
            cached = self._calls.get(key)
        except TypeError:  # a leaf that cannot be hashed: a new function, which is traced again
            return self._function(call), arrays
        if cached is None:
            cached = self._calls.setdefault(key, self._function(call))
        return cached, arrays

    def _function(self, call: ArrayCall) -> Callable[..., Any]:
        @looks_like(self._fun)
        def of_arrays(*arrays: object) -> object:
            return call.run(self._tool, self._fun, arrays)

        return of_arrays if self._transform is None else self._transform(of_arrays)


def array_call(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[ArrayCall, list[Any]]:
    """Separate the arrays of a call from its other leaves.

    Args:
      fun: the function, which decides which Python numbers are arrays.
      args, kwargs: its arguments.
    """
    leaves, tree = tree_flatten((args, dict(kwargs)))
    fixed = fixed_leaves((args, kwargs), leaves, all_numbers=_is_jitted_by_library(fun))
    fixed = {i: _Replayed(x) if _is_iterator(x) else x for i, x in fixed.items()}
    call = ArrayCall(tree, tuple(fixed.items()), shared_objects((args, dict(kwargs))))
    return call, call.select(leaves)


class _Replayed:
    """An iterator among a call's arguments, which each trace of the call reads from its beginning.

    It has no hash: another call with it reads what is left, so that nothing is cached by it.
    """

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, iterator: Iterator[Any]):
        (self._items,) = tee(iterator, 1)

    def copy(self) -> Iterator[Any]:
        """Return an iterator over the items from the beginning."""
        return copy(self._items)


def _is_iterator(leaf: object) -> bool:
    """Whether a leaf is a generator or an iterator of Python's, which has nothing but items."""
    kind = type(leaf)
    return hasattr(kind, "__next__") and kind.__module__ in ("builtins", "itertools")


def is_typed(leaf: object) -> bool:
    """Whether a leaf is an array or a number, or describes one."""
    try:
        argument_aval(leaf)
    except TypeError:
        return False
    return True


def fixed_leaves(
    tree: object, leaves: Sequence[Any], *, all_numbers: bool = False
) -> dict[int, Any]:
    """Return the leaves of a tree that are not traced, by position."""
    fixed = {i: x for i, x in enumerate(leaves) if not is_typed(x)}
    numbers = [i for i, x in enumerate(leaves) if type(x) in _SCALARS]
    if numbers and not all_numbers:
        # Nodes of registered classes are leaves here, and the leaves inside of them are counted.
        inside: list[bool] = []
        for node in tree_leaves(tree, is_leaf=_is_object):
            inside += [_is_object(node)] * len(tree_leaves(node))
        numbers = [i for i in numbers if inside[i]]
    fixed.update((i, leaves[i]) for i in numbers)
    return dict(sorted(fixed.items()))


def _nodes(tree: object) -> list[Any]:
    """Return the objects of registered classes and the leaves in plain containers."""
    return tree_leaves(tree, is_leaf=_is_object)


def _is_object(node: object) -> bool:
    """Whether a node or leaf is an object of a registered class, such as a library's model."""
    if isinstance(node, _CONTAINERS):
        return False
    leaves = tree_leaves(node)
    return len(leaves) != 1 or leaves[0] is not node


def _same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether two lists hold the same objects."""
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


def _is_jitted_by_library(fun: object) -> bool:
    return not has_stages(fun) and (hasattr(fun, "trace") or hasattr(fun, "lower"))


class _Results:
    """Results of which some leaves are not arrays; unflattened, it is the results."""

    def __init__(self, arrays: Sequence[Any], tree: PyTreeDef, fixed: Mapping[int, Any]):
        self.arrays = arrays
        self.structure = tree, tuple(fixed.items())


def _unflatten_results(
    structure: tuple[PyTreeDef, tuple[tuple[int, Any], ...]], arrays: Sequence[Any]
) -> _Results:
    tree, fixed = structure
    leaves = list(arrays)
    for i, leaf in fixed:
        leaves.insert(i, leaf)
    return tree_unflatten(tree, leaves)


register_pytree_node(
    _Results, lambda results: (results.arrays, results.structure), _unflatten_results
)

"""Values of several arrays while a function is traced: their tracers, and their parts.

Operations that record jaxprs of users' functions take and return the parts of such values. For
these, ``parted`` replaces each value in a pytree by a node whose children are its parts, and which
becomes a value again where the pytree is unflattened. So compiled jaxprs and the bodies of loops
have only arrays as arguments and results.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import ricci_pytree as pytree
from ricci_ir._hook import Hook
from ricci_ir.types._aval import hi_values
from ricci_ir.types._hi_types import HiType, HiVal, is_hi_type

from ._trace import Tracer

__all__ = [
    "aval_method",
    "aval_property",
    "HiParts",
    "has_hi_values",
    "join_parts",
    "lower_hi_values",
    "parted",
    "split_parts",
    "stacked_parts",
    "with_methods",
]


class aval_method:
    """A method of a type's tracers, defined in the class of the type.

    Args:
      fun: the function; its first argument is the tracer.
    """

    __slots__ = ("fun",)

    def __init__(self, fun: Callable[..., Any]):
        self.fun = fun


class aval_property:
    """A property of a type's tracers, defined in the class of the type.

    Args:
      fget: the function of the tracer that returns the property's value.
    """

    __slots__ = ("fget",)

    def __init__(self, fget: Callable[..., Any]):
        self.fget = fget


def _bound(value: HiVal, tracer: Tracer) -> HiVal:
    if isinstance(value, aval_property):
        return value.fget(tracer)
    if isinstance(value, aval_method):
        return value.fun.__get__(tracer)
    return value


class _TypeMethods:
    """The attributes and operators of a tracer that its type defines."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> HiVal:
        aval = object.__getattribute__(self, "aval")
        defined = getattr(type(aval), name, None)
        if isinstance(defined, aval_method | aval_property):
            return _bound(defined, self)  # pyright: ignore[reportArgumentType]
        return object.__getattribute__(self, name)

    def __getattr__(self, name: str) -> HiVal:
        aval = object.__getattribute__(self, "aval")
        return _bound(getattr(aval, name), self)  # pyright: ignore[reportArgumentType]

    __hash__ = object.__hash__


def _operator(name: str) -> Callable[..., Any]:
    def operator(self: HiVal, *args: object) -> HiVal:
        method = getattr(type(self.aval), f"_{name}", None)
        if method is None:
            raise TypeError(f"the type {self.aval} does not define the operator __{name}__")
        return method(self.aval, self, *args)

    return operator


for _name in (
    *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow"),
    *("lshift", "rshift", "and", "or", "xor"),
):
    for _prefix in ("", "r"):
        setattr(_TypeMethods, f"__{_prefix}{_name}__", _operator(_prefix + _name))
for _name in (
    *("getitem", "setitem", "len", "iter", "bool", "complex", "int", "float", "index"),
    *("neg", "pos", "abs", "invert", "round", "trunc", "floor", "ceil"),
    *("lt", "le", "gt", "ge"),
):
    setattr(_TypeMethods, f"__{_name}__", _operator(_name))


@cache
def _class_with_methods(kind: type) -> type:
    return type(kind.__name__, (_TypeMethods, kind), {"__slots__": ()})


def with_methods(x: HiVal) -> HiVal:
    """Return a value; a tracer of several arrays gets the attributes that its type defines.

    Args:
      x: the value.

    Returns:
      The same object.

    Example:
      >>> from ricci_ir import with_methods
      >>> with_methods(2.0)
      2.0
    """
    if isinstance(x, Tracer) and not isinstance(x, _TypeMethods) and is_hi_type(x.aval):
        x.__class__ = _class_with_methods(type(x))
    return x


# The parts of a traced value in the current trace, and the traced value of these parts.
split_parts: Hook[Callable[[HiType, Any], Sequence[HiVal]]] = Hook(
    "parts of values", provided_by="ricci_lax"
)
join_parts: Hook[Callable[[HiType, Sequence[HiVal]], Any]] = Hook(
    "values of parts", provided_by="ricci_lax"
)
# The jaxpr without operations on such values, of a jaxpr of arrays.
lower_hi_values: Hook[Callable[[Any], Any]] = Hook(
    "expansions of operations", provided_by="ricci_lax"
)


class HiParts:
    """The parts of a value, as a node of a pytree.

    Unflattened from arrays, it is the value; from placeholders, it is a node again.

    Args:
      aval: the type of the value.
      parts: its parts.
    """

    __slots__ = ("aval", "parts")

    def __init__(self, aval: HiType, parts: Sequence[HiVal]):
        self.aval = aval
        self.parts = tuple(parts)


def _join(aval: HiType, parts: Sequence[HiVal]) -> HiVal:
    parts = tuple(parts)
    if any(isinstance(x, Tracer) for x in parts):
        return join_parts.call(aval, parts)
    if all(hasattr(type(x), "aval") for x in parts):
        return aval.raise_val(*parts)
    return HiParts(aval, parts)


pytree.register_pytree_node(HiParts, lambda node: (node.parts, node.aval), _join)


def _hi_type(x: object) -> HiType | None:
    if isinstance(x, Tracer):
        return x.aval if x.aval.is_high else None
    rule: Any = hi_values.rules.get(type(x))
    return None if rule is None else rule(x)


def has_hi_values(tree: object) -> bool:
    """Whether a pytree has a leaf that is made of several arrays.

    Args:
      tree: the pytree.

    Returns:
      A bool.

    Example:
      >>> from ricci_ir import has_hi_values
      >>> has_hi_values([1.0, 2.0])
      False
    """
    return hi_values.in_use and any(_hi_type(x) is not None for x in pytree.tree_flatten(tree)[0])


def _parts(x: HiVal) -> HiVal:
    aval = _hi_type(x)
    if aval is None:
        return x
    is_traced = isinstance(x, Tracer)
    return HiParts(aval, split_parts.call(aval, x) if is_traced else aval.lower_val(x))


def parted(tree: HiVal) -> HiVal:
    """Return a pytree with the parts of values in their place.

    Args:
      tree: the pytree.

    Returns:
      The pytree, with ``HiParts`` in place of values that are made of several arrays.

    Example:
      >>> from ricci_ir import parted
      >>> parted([1.0, 2.0])
      [1.0, 2.0]
    """
    if not hi_values.in_use:
        return tree
    return pytree.tree_map(_parts, tree)


def stacked_parts(
    tree: pytree.PyTreeDef, length: int, change: Callable[[HiType, int], Any]
) -> pytree.PyTreeDef:
    """Return the structure of a pytree with another type of each value in it.

    Args:
      tree: the structure, of a pytree that ``parted`` returned.
      length: the size of the leading axes of the parts.
      change: returns the other type.
    """
    if not hi_values.in_use:
        return tree
    nodes = pytree.tree_unflatten(tree, [object()] * tree.num_leaves)
    is_leaf = lambda x: isinstance(x, HiParts)

    def replaced(x: HiVal) -> HiVal:
        return HiParts(change(x.aval, length), x.parts) if is_leaf(x) else x

    return pytree.tree_structure(pytree.tree_map(replaced, nodes, is_leaf=is_leaf))

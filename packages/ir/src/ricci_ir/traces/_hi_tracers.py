"""Values of several arrays while a function is traced: their tracers, and their parts.

Operations that record jaxprs of users' functions take and return the parts of such values. For
these, ``parted`` replaces each value in a pytree by a node whose children are its parts, and which
becomes a value again where the pytree is unflattened. So compiled jaxprs and the bodies of loops
have only arrays as arguments and results.
"""

from collections.abc import Callable, Sequence
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
    "HiTracer",
    "has_hi_values",
    "join_parts",
    "lower_hi_values",
    "parted",
    "presenting_hi_values",
    "split_parts",
    "stacked_parts",
    "with_methods",
    "without_methods",
]


class aval_method:
    """A method of a type's tracers, defined in the class of the type.

    Args:
      fun: the function; its first argument is the tracer.

    Example:
      >>> from ricci.experimental import hijax
      >>> class Pair(hijax.HiType):
      ...     @hijax.aval_method
      ...     def swapped(self):
      ...         return self
      >>> type(Pair.swapped).__name__
      'aval_method'
    """

    __slots__ = ("fun",)

    def __init__(self, fun: Callable[..., Any]):
        self.fun: Callable[..., Any] = fun


class aval_property:
    """A property of a type's tracers, defined in the class of the type.

    Args:
      fget: the function of the tracer that returns the property's value.

    Example:
      >>> from ricci.experimental import hijax
      >>> class Pair(hijax.HiType):
      ...     first = hijax.aval_property(lambda pair: pair)
      >>> type(Pair.first).__name__
      'aval_property'
    """

    __slots__ = ("fget",)

    def __init__(self, fget: Callable[..., Any]):
        self.fget: Callable[..., Any] = fget


def _bound(value: HiVal, tracer: Tracer) -> HiVal:
    if isinstance(value, aval_property):
        return value.fget(tracer)
    if isinstance(value, aval_method):
        return value.fun.__get__(tracer)
    return value


class HiTracer(Tracer):
    """A tracer of several arrays as users see it, with the attributes that its type defines.

    Transformations and rules of primitives see the tracer inside, which is of the class that its
    trace compares with.

    Args:
      plain: that tracer.

    Attributes:
      plain: that tracer.
    """

    __slots__ = ("plain",)

    def __init__(self, plain: Tracer):
        super().__init__(plain._trace, plain.aval)
        self.plain: Tracer = plain

    def _origin_message(self) -> str:
        return self.plain._origin_message()

    def __repr__(self) -> str:
        return repr(self.plain)

    def __getattribute__(self, name: str) -> HiVal:
        # Attributes that the type defines go before those of all tracers. The others are looked up
        # last, by ``__getattr__``.
        aval = object.__getattribute__(self, "aval")
        defined = getattr(type(aval), name, None)
        if isinstance(defined, aval_method | aval_property):
            return _bound(defined, self)
        return object.__getattribute__(self, name)

    def __getattr__(self, name: str) -> HiVal:
        return _bound(getattr(object.__getattribute__(self, "aval"), name), self)

    def __hash__(self) -> int:
        return id(self)


def _operator(name: str) -> Callable[..., Any]:
    def operator(self: HiVal, *args: object) -> HiVal:
        # Python looks operators up on the class, which is one for all types: so the class has all
        # of them, and each asks the type.
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
        setattr(HiTracer, f"__{_prefix}{_name}__", _operator(_prefix + _name))
for _name in (
    *("getitem", "setitem", "len", "iter", "bool", "complex", "int", "float", "index"),
    *("neg", "pos", "abs", "invert", "round", "trunc", "floor", "ceil"),
    *("lt", "le", "gt", "ge"),
):
    setattr(HiTracer, f"__{_name}__", _operator(_name))


def with_methods(x: HiVal) -> HiVal:
    """Return a tracer of several arrays with the attributes that its type defines.

    Args:
      x: a value.

    Returns:
      A ``HiTracer``, or any other value itself.

    Example:
      >>> from ricci_ir import with_methods
      >>> with_methods(2.0)
      2.0
    """
    if isinstance(x, Tracer) and is_hi_type(x.aval) and type(x) is not HiTracer:
        return HiTracer(x)
    return x


def without_methods(x: HiVal) -> HiVal:
    """Return the tracer inside of a ``HiTracer``, and any other value itself.

    Args:
      x: a value.

    Returns:
      A tracer of the class that its trace compares with, or the value.

    Example:
      >>> from ricci_ir import without_methods
      >>> without_methods(2.0)
      2.0
    """
    return x.plain if type(x) is HiTracer else x


def presenting_hi_values(fun: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """Return a flat function that calls a user's with ``HiTracer`` for tracers of several arrays.

    Args:
      fun: the function.

    Returns:
      The function itself where no such values are in use.

    Example:
      >>> from ricci_ir import presenting_hi_values
      >>> presenting_hi_values(lambda x: [x])(2.0)
      [2.0]
    """
    if not hi_values.in_use:
        return fun
    return lambda *args: [without_methods(x) for x in fun(*map(with_methods, args))]


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
        self.aval: HiType = aval
        self.parts: tuple[HiVal, ...] = tuple(parts)


def _join(aval: HiType, parts: Sequence[HiVal]) -> HiVal:
    parts = tuple(parts)
    # Parts are of one kind: traced, arrays, or placeholders such as types and specs, which stay a
    # node.
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
    leaves, treedef = pytree.tree_flatten(tree)
    if all(_hi_type(x) is None for x in leaves):
        return tree
    return pytree.tree_unflatten(treedef, map(_parts, leaves))


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

"""Create, read and write references."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np

import ricci_ir as ir
from ricci_lax.elementwise._conversion import converted
from ricci_pytree import register_pytree_node

from . import _primitives as primitives
from ._forms import Form, split_operands
from ._indexing import Indexer, indices_of, read_index
from ._spans import bounded_forms, is_spanning, traced_counts, traced_shape
from ._views import WholeView, bitcast_of, reshape_of, whole_view

__all__ = ["TransformedRef", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref"]
__all__ += ["set", "swap"]


@ir.exported
@final
class TransformedRef:
    """A view of a part of a reference: ``ref.at[index]``. Writing to it writes to the reference.

    A view is a pytree of its reference and operands, so that it can be an argument.

    Attributes:
      ref: the reference.
      forms: the forms of its indices, one after the other.
      operands: the positions in these that are operands.
    """

    __slots__ = ("forms", "operands", "ref")

    def __init__(self, ref: Any, forms: tuple[Form, ...], operands: tuple[ir.ArrayLike, ...]):
        self.ref: ir.Ref = ref
        self.forms: tuple[Form, ...] = forms
        self.operands: tuple[ir.ArrayLike, ...] = operands

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the part; a size is a tracer where the index has a slice of that size."""
        if any(map(is_spanning, self.forms)):
            return traced_shape(self.ref.shape, self.forms, self.operands)
        return self._part_aval().shape

    @property
    def bounds(self) -> tuple[int, ...]:
        """The shape of the part, with a static bound in place of each traced size."""
        return self._part_aval().shape

    def bounded(self, bounds: Sequence[int]) -> "TransformedRef":
        """A view of the part with lower bounds of its traced sizes.

        Args:
          bounds: a bound for each dimension; those of static sizes are ignored.
        """
        rows = zip(self.shape, bounds, strict=True)
        traced = [None if isinstance(size, int) else bound for size, bound in rows]
        return TransformedRef(self.ref, bounded_forms(self.forms, traced), self.operands)

    def _part_aval(self) -> ir.ShapedArray:
        avals = tuple(map(ir.get_aval, (self.ref, *self.operands)))
        return primitives.get_p.result_avals(avals, {"transforms": self.forms})  # pyright: ignore

    @property
    def transforms(self) -> tuple[Indexer, ...]:
        """The indices, one after the other, with their positions."""
        groups = split_operands(self.forms, self.operands)
        return tuple([Indexer(indices_of(f, xs)) for f, xs in zip(self.forms, groups, strict=True)])

    @property
    def dtype(self) -> Any:
        """The dtype of the part."""
        return self._part_aval().dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions of the part."""
        return len(self._part_aval().shape)

    @property
    def at(self) -> "_Views":
        """Views of this view."""
        return _Views(self)

    def __getitem__(self, index: Any) -> ir.Array:
        return get(self, index)

    def __setitem__(self, index: Any, value: ir.ArrayLike) -> None:
        set(self, index, value)

    def addupdate(self, x: ir.ArrayLike, idx: Any = ...) -> None:
        """Add a value at an index."""
        addupdate(self, idx, x)

    def reshape(self, *shape: int | Sequence[int]) -> "TransformedRef":
        """View the part in another shape."""
        return reshaped(self, *shape)

    def bitcast(self, dtype: ir.DTypeLike) -> "TransformedRef":
        """View the bits of the part as another dtype."""
        return bitcast(self, dtype)

    def get(self) -> ir.Array:
        """Read the part."""
        return get(self, ...)

    def set(self, value: ir.ArrayLike) -> None:
        """Write to the part."""
        set(self, ..., value)

    def __repr__(self) -> str:
        return f"TransformedRef({self.ref!r}, shape={self.shape})"


def _view_of_leaves(transforms: tuple[Form, ...], leaves: Any) -> TransformedRef:
    ref, *operands = leaves
    is_index = bool(transforms) and whole_view(transforms[0]) is None
    if is_index and ir.is_reference(ref) and len(transforms[0]) != len(ref.shape):
        raise TypeError(
            f"a view ref.at[...] of {len(transforms[0])} dimensions is of a reference of shape "
            f"{ref.shape} now: a view cannot be mapped. Map the reference, and index it inside of "
            "the function."
        )
    return TransformedRef(ref, transforms, tuple(operands))


register_pytree_node(
    TransformedRef, lambda view: ((view.ref, *view.operands), view.forms), _view_of_leaves
)


class _Views:
    """The object ``ref.at``: index it for a view of a part."""

    __slots__ = ("ref",)

    def __init__(self, ref: Any):
        self.ref: Any = ref

    def __getitem__(self, index: Any) -> TransformedRef:
        return TransformedRef(*_located("ref.at", self.ref, index))


def _located(
    name: str, ref: Any, index: Any
) -> tuple[Any, tuple[Form, ...], tuple[ir.ArrayLike, ...]]:
    """A reference, and the forms and operands of its indices, the last of which is ``index``."""
    view = ref if type(ref) is TransformedRef else None
    base = ref if view is None else view.ref
    if not ir.is_reference(base):
        raise ValueError(
            f"{name} takes a reference, got {ref!r:.60} of type {type(ref).__name__}. Make one "
            "with new_ref(array)."
        )
    if index is None or index is Ellipsis:
        if view is None:
            return base, (), ()
        return base, view.forms, view.operands
    form, operands = read_index(ref.shape if view is None else view.bounds, index)
    if view is None:
        return base, (form,), tuple(operands)
    return base, (*view.forms, form), (*view.operands, *operands)


def reshaped(ref: ir.Ref | TransformedRef, *shape: int | Sequence[int]) -> TransformedRef:
    """View a reference, or a view of one, in another shape: ``ref.reshape(2, -1)``."""
    return _viewed(ref, reshape_of(_static_shape("reshape", ref), shape))


def bitcast(ref: ir.Ref | TransformedRef, dtype: ir.DTypeLike) -> TransformedRef:
    """View the bits of a reference, or of a view of one, as another dtype: ``ref.bitcast(int)``."""
    return _viewed(ref, bitcast_of(_static_shape("bitcast", ref), ref.dtype, dtype))


def _static_shape(name: str, ref: ir.Ref | TransformedRef) -> tuple[int, ...]:
    """The shape of a reference or a view; refuse traced sizes."""
    if isinstance(ref, TransformedRef):
        _check_sizes(name, ref.forms, ref.operands)
    return ref.shape


def _viewed(ref: ir.Ref | TransformedRef, view: WholeView) -> TransformedRef:
    base, forms, operands = _located("ref", ref, ...)
    form: Any = (view,)
    return TransformedRef(base, (*forms, form), operands)


def _check_sizes(name: str, forms: Sequence[Form], operands: Sequence[ir.ArrayLike]) -> None:
    """Refuse to read or write a part of traced size, since an array has a static shape."""
    for form, positions in zip(forms, split_operands(forms, operands), strict=True):
        for axis, count in traced_counts(form, positions):
            raise NotImplementedError(
                f"{name}: dimension {axis} of a reference is indexed with a slice of traced size, "
                f"{ir.get_aval(count).str_short()}. Give it a static size, and mask what is "
                "beyond; or copy the part in a kernel by make_async_copy."
            )


def get(ref: ir.Ref | TransformedRef, idx: Any = None) -> ir.Array:
    """The part of a reference at an index: ``ref[idx]``.

    Args:
      ref: a reference, or a view ``ref.at[...]`` of one.
      idx: an integer, a slice, ``...``, an array of integers, or a tuple of these; by default all.

    Returns:
      An array of the part's shape.

    Raises:
      ValueError: if ``ref`` is not a reference, or an index is past the end.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.ref import get
      >>> get(ricci.new_ref(np.float32([1, 2, 3])), 1)
      Array(2., dtype=float32)
    """
    base, transforms, operands = _located("get", ref, idx)
    _check_sizes("get", transforms, operands)
    return primitives.get_p.bind(base, *operands, transforms=transforms)


def set(ref: ir.Ref | TransformedRef, idx: Any, value: ir.ArrayLike) -> None:
    """Write to a reference at an index: ``ref[idx] = value``.

    Args:
      ref, idx: see ``get``.
      value: an array of the shape and dtype of what is there, or a scalar for a scalar. Integers
        are converted to other integers.

    Raises:
      ValueError: if the shape or the dtype of ``value`` is another.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.ref import set
      >>> ref = ricci.new_ref(np.float32([1, 2, 3]))
      >>> set(ref, slice(1, None), np.float32([5, 6]))
      >>> ref
      Ref([1., 5., 6.], dtype=float32)
    """
    base, transforms, operands = _located("set", ref, idx)
    value = _fitting(base, transforms, operands, value)
    # A recorded write is a swap whose result is unused; eagerly the previous value is not read at
    # all.
    if ir.context.trace.records_references:
        primitives.swap_p.bind(base, value, *operands, transforms=transforms)
    else:
        primitives.write(base, value, operands, transforms)


def swap(
    ref: ir.Ref | TransformedRef, idx: Any, value: ir.ArrayLike, _function_name: str = "ref_swap"
) -> ir.Array:
    """Write to a reference at an index, and return the previous value; see ``set``.

    Args:
      ref, idx: see ``get``.
      value: an array of the shape and dtype of what is there, or a scalar for a scalar. Integers
        are converted to other integers.

    Returns:
      An array: the previous value.

    Raises:
      ValueError: if the shape or the dtype of ``value`` is another.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.ref import swap
      >>> swap(ricci.new_ref(np.float32([1, 2, 3])), 0, 7.0)
      Array(1., dtype=float32)
    """
    base, transforms, operands = _located(_function_name.removeprefix("ref_"), ref, idx)
    value = _fitting(base, transforms, operands, value)
    return primitives.swap_p.bind(base, value, *operands, transforms=transforms)


def addupdate(ref: ir.Ref | TransformedRef, idx: Any, x: ir.ArrayLike) -> None:
    """Add to a reference at an index; positions that occur twice get both.

    Args:
      ref, idx: see ``get``.
      x: an array of the shape and dtype of what is there, or a scalar for a scalar.

    Raises:
      ValueError: if the shape or the dtype of ``x`` is another.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.ref import addupdate
      >>> ref = ricci.new_ref(np.float32([1, 2, 3]))
      >>> addupdate(ref, np.int32([0, 0]), np.float32([10, 20]))
      >>> ref
      Ref([31.,  2.,  3.], dtype=float32)
    """
    base, transforms, operands = _located("addupdate", ref, idx)
    x = _fitting(base, transforms, operands, x, converts_integers=False)
    primitives.addupdate_p.bind(base, x, *operands, transforms=transforms)


def _fitting(
    ref: Any,
    transforms: tuple[Form, ...],
    operands: tuple[ir.ArrayLike, ...],
    x: ir.ArrayLike,
    converts_integers: bool = True,
) -> ir.ArrayLike:
    """Check and convert a value to the type of the part of a reference that it is written to."""
    _check_sizes("set", transforms, operands)
    if transforms:
        avals = tuple(map(ir.get_aval, operands))
        expected: Any = primitives.get_p.result_avals(
            (ref.aval, *avals), {"transforms": transforms}
        )
    else:
        expected = ref.aval.inner_aval
    aval: Any = ir.get_aval(x)
    if aval.shape != expected.shape:
        raise ValueError(
            f"a value of shape {aval.shape} is written to a part of shape "
            f"{expected.shape} of a reference of type {ref.aval}. Values are not broadcast: use "
            f"jnp.full({expected.shape}, value)."
        )
    integers = converts_integers and _are_integers(aval.dtype, expected.dtype)
    if aval.dtype != expected.dtype and not (integers or _gives_way(aval, expected.dtype)):
        raise ValueError(
            f"a value of dtype {aval.dtype} is written to a reference of type {ref.aval}. "
            f"Convert it with astype({str(expected.dtype)!r})."
        )
    return ir.as_array(converted(x, expected.dtype))


# Kinds of numbers, each of which includes those before it.
_kinds: tuple[type[np.generic], ...] = (np.integer, np.floating, np.complexfloating)


def _are_integers(*dtypes: Any) -> bool:
    """Whether dtypes are of integers, which stores convert to any width, as in JAX."""
    return all(ir.issubdtype(dtype, np.integer) for dtype in dtypes)


def _gives_way(value_aval: Any, dtype: Any) -> bool:
    """Whether a weakly typed value can be converted to a dtype: not to a lesser kind of number."""
    if not value_aval.weak_type:
        return False
    return any(
        ir.issubdtype(value_aval.dtype, kind) and any(ir.issubdtype(dtype, k) for k in _kinds[i:])
        for i, kind in enumerate(_kinds)
    )


def new_ref(
    init_val: ir.ArrayLike, *, memory_space: Any = None, kind: str | None = None, pin: bool = False
) -> ir.Ref:
    """Create a reference to an array, with the initial value ``init_val``.

    Args:
      init_val: an array or a scalar. It stays as it is.
      memory_space: where the reference's array is to be; a part of the type.
      kind: a name that is a part of the type.
      pin: whether the array's memory must stay where it is; only inside of ``jit``.

    Returns:
      The reference. ``ref[...]`` reads the array, ``ref[...] = x`` and ``ref[idx] = x`` write.

    Raises:
      TypeError: if ``init_val`` is not an array.
      NotImplementedError: if ``pin`` is set outside of ``jit``.

    Example:
      A function that counts what passes through it, also when it is compiled:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> largest = ricci.new_ref(0.0)
      >>> @ricci.jit
      ... def watched(x):
      ...     largest[...] = jnp.maximum(largest[...], jnp.max(x))
      ...     return 2 * x
      >>> _ = watched(jnp.array([1.0, 5.0])), watched(jnp.array([2.0, 3.0]))
      >>> largest[...]
      Array(5., dtype=float32)

    Notes:
      A reference cannot be returned from a jitted function, nor be a leaf that ``grad``
      differentiates with respect to. Reading returns an array, which later writes do not change.

    See also:
      ``freeze``, ``ricci.ref``; the guide to references.
    """
    if ir.is_reference(init_val):
        raise TypeError("new_ref: init_val is a reference already. Pass its array: ref[...].")
    try:
        aval: Any = ir.get_aval(init_val)
    except TypeError:
        raise TypeError(
            f"new_ref takes an array or a scalar, got {init_val!r:.60} of type "
            f"{type(init_val).__name__}. Make a reference for each array, or pass "
            "jnp.asarray(...)."
        ) from None
    if pin and ir.context.trace is ir.eval_trace:
        raise NotImplementedError("new_ref: pin=True is for references that a jit makes.")
    init = ir.as_array(converted(init_val, aval.dtype, False))
    ref = primitives.new_ref_p.bind(init, memory_space=memory_space, kind=kind, pin=bool(pin))
    return _recorded(ref)


def empty_ref(ty: Any, memory_space: Any = None, pin: bool = False) -> ir.Ref:
    """Create a reference to an array that is to be written before it is read; it is zeros.

    Args:
      ty: the type of the array, or an object with a ``shape`` and a ``dtype``.
      memory_space, pin: see ``new_ref``.

    Returns:
      The reference.

    Example:
      >>> import ricci
      >>> ricci.empty_ref(ricci.ShapeDtypeStruct((2,), "float32")).shape
      (2,)
    """
    aval: Any = ty if isinstance(ty, ir.AbstractValue) else ir.typeof(ty)
    aval = aval.strip_weak_type()
    return _recorded(primitives.empty_ref_p.bind(ty=aval, memory_space=memory_space, pin=bool(pin)))


def _recorded(reference: Any) -> Any:
    """A new reference for users: a traced one with brackets."""
    if isinstance(reference, ir.Tracer) and not isinstance(reference, ir.StagedReference):
        return ir.StagedReference(reference._trace, reference.aval, reference.atom)  # pyright: ignore
    return reference


def freeze(ref: ir.Ref) -> ir.Array:
    """The array of a reference that will not be written any more.

    Args:
      ref: the reference, or an array, which is returned as it is.

    Returns:
      The array.

    Raises:
      ValueError: if ``ref`` is neither a reference nor an array.

    Example:
      >>> import ricci
      >>> ricci.freeze(ricci.new_ref(1.0))
      Array(1., dtype=float32)
    """
    if not ir.is_reference(ref):
        raise ValueError(f"freeze takes a reference, got {ref!r:.60} of type {type(ref).__name__}.")
    return primitives.freeze_p.bind(ref)


def free_ref(ref: ir.Ref) -> None:
    """Free the memory of a reference, which must not be used after that.

    Args:
      ref: the reference.

    Raises:
      ValueError: if ``ref`` is not a reference.

    Example:
      >>> import ricci
      >>> ref = ricci.new_ref(1.0)
      >>> ricci.free_ref(ref)
      >>> ref
      Ref(float32[], freed)
    """
    if not ir.is_reference(ref):
        raise ValueError(
            f"free_ref takes a reference, got {ref!r:.60} of type {type(ref).__name__}."
        )
    primitives.free_ref_p.bind(ref)


_METHODS = {
    "get": get,
    "set": set,
    "swap": swap,
    "addupdate": addupdate,
    "at": _Views,
    "free": free_ref,
    "reshape": reshaped,
    "bitcast": bitcast,
}
ir.reference_methods.provide(_METHODS.__getitem__)

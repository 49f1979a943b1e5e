"""``ShapeDtypeStruct``: the shape, also a symbolic one, and dtype of an array without values."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ricci_ir._contexts import current_mesh
from ricci_ir._errors import ConcretizationTypeError
from ricci_ir._hook import Hook
from ricci_ir._traceback_filtering import boundary, leave

from ._abstract_value import AbstractValue
from ._aval import ShapedArray, get_aval, read_sharding
from ._dtypes import ExtendedDType, canonicalize_dtype, explicit_dtype
from ._references import AbstractRef

__all__ = ["ShapeDtypeStruct", "argument_aval", "described_type", "format_type", "sharding_of_spec"]
__all__ += ["result_aval", "typeof"]

# The class of formats, which have the attributes ``layout`` and ``sharding``.
format_type: Hook[Callable[[Any, Any], Any]] = Hook("layouts", provided_by="ricci_xla")
# Resolves a spec on the current mesh; shardings are returned unchanged.
sharding_of_spec: Hook[Callable[[Any], Any]] = Hook(
    "shardings", provided_by="ricci_xla", default=lambda sharding: sharding
)

_fields = ("shape", "dtype", "sharding", "weak_type", "manual_axis_type", "is_ref", "_memory_space")


class ShapeDtypeStruct:
    """A shape, dtype and sharding that replace an array when a function is only traced.

    Args:
      shape: a sequence of ints.
      dtype: a NumPy dtype or an argument of ``np.dtype``, or an extended dtype.
      sharding: the sharding; or a format, which has the layout of the elements as well.
      weak_type: whether the dtype gives way to others in promotion, as Python scalars do.
      manual_axis_type: stored unchanged.
      is_ref: whether it describes a reference that holds such an array.

    Raises:
      ValueError: if ``dtype`` is ``None``.
      TypeError: if a format leaves the layout to the compiler.

    Example:
      In place of arrays in ``eval_shape``, ``make_jaxpr``, ``jit(f).lower`` and ``export``:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> x = ricci.ShapeDtypeStruct((128, 64), jnp.bfloat16)
      >>> ricci.eval_shape(lambda x: x @ x.T, x)
      ShapeDtypeStruct(shape=(128, 128), dtype=bfloat16)
      >>> text = ricci.jit(lambda x: x.sum()).lower(x).as_text()
      >>> "tensor<128x64xbf16>" in text
      True
    """

    __slots__ = (*_fields, "__weakref__", "_format")

    shape: tuple[int, ...]
    dtype: Any
    sharding: Any
    weak_type: bool
    manual_axis_type: Any
    is_ref: bool
    _memory_space: Any
    _format: Any

    def __init__(
        self,
        shape: Any,
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        manual_axis_type: object = None,
        is_ref: bool = False,
        _memory_space: object = None,
    ):
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype is None; name the dtype.")
        if not isinstance(dtype, np.dtype | ExtendedDType):
            dtype = np.dtype(dtype)
        shape = tuple(shape)
        if None in shape:
            raise ValueError(f"ShapeDtypeStruct: a size cannot be None, got the shape {shape}.")
        layout = getattr(sharding, "layout", None)
        if layout is not None and not hasattr(layout, "major_to_minor"):
            raise TypeError(
                f"ShapeDtypeStruct: {sharding} leaves the layout to the compiler, but this "
                "describes one array. Give it to jit, as in_shardings."
            )
        # A format has a layout and a sharding; ``sharding`` is the latter alone.
        object.__setattr__(self, "_format", None if layout is None else sharding)
        if hasattr(sharding, "layout"):
            sharding = sharding.sharding
        if sharding is not None:
            sharding = sharding_of_spec.call(sharding)
        # A shorter one is valid: the dimensions that it does not mention are not sharded.
        if len(spec := getattr(sharding, "spec", ())) > len(shape):
            raise ValueError(
                f"ShapeDtypeStruct: {spec} is too long for an array of {len(shape)} "
                "dimensions. Shorten it."
            )
        values = (shape, dtype, sharding, weak_type, manual_axis_type, is_ref, _memory_space)
        for field, value in zip(_fields, values, strict=True):
            object.__setattr__(self, field, value)

    def __setattr__(self, name: str, value: object) -> None:
        if name in _fields:
            raise RuntimeError(
                f"ShapeDtypeStruct is immutable: {name} cannot be assigned. "
                f"Use .update({name}=...), which returns a changed copy."
            )
        super().__setattr__(name, value)  # an attribute of a subclass

    @staticmethod
    def like(x: object) -> "ShapeDtypeStruct":
        """The description of an array, a scalar or anything with a shape and a dtype."""
        aval: Any = argument_aval(x)
        try:
            committed = getattr(x, "committed", True)
        except ConcretizationTypeError:  # a tracer
            return described_type(aval)
        # Where an uncommitted array is does not matter: operations move it to other arguments'
        # devices.
        sharding = getattr(x, "sharding", None) if committed else None
        return ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding, weak_type=aval.weak_type)

    def update(self, **changes: object) -> "ShapeDtypeStruct":
        """A copy with some of the fields replaced."""
        fields = dict(zip(_fields, self._key(), strict=True))
        return ShapeDtypeStruct(**{**fields, **changes})

    @property
    def format(self) -> Any:
        """The layout, if one was given, together with the sharding.

        Raises:
          AttributeError: if no runtime with layouts is imported.
        """
        if self._format is None and format_type.provider is None:
            raise AttributeError("ShapeDtypeStruct.format needs the package ricci_xla.")
        return self._format or format_type.call(None, self.sharding)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def _key(self) -> tuple[Any, ...]:
        values = {field: getattr(self, field) for field in _fields}
        return tuple({**values, "sharding": self._format or self.sharding}.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> Any:
        return _restore, self._key()

    def __repr__(self) -> str:
        parts = [f"shape={self.shape}", f"dtype={getattr(self.dtype, 'name', self.dtype)}"]
        if self.sharding is not None:
            parts.append(f"sharding={self.sharding}")
        if self._format is not None:
            parts.append(f"format={self._format.layout}")
        if self.weak_type:
            parts.append("weak_type=True")
        if self.manual_axis_type is not None:
            parts.append(f"manual_axis_type={self.manual_axis_type}")
        if self.is_ref:
            parts.append("is_ref=True")
        return f"ShapeDtypeStruct({', '.join(parts)})"


def described_type(aval: ShapedArray, sharding: object = None) -> ShapeDtypeStruct:
    """The description of arrays of a type.

    Args:
      aval: the type.
      sharding: their sharding, if it is not that of the type.
    """
    type_sharding, mesh = aval.type_sharding, current_mesh.value
    on_mesh = type_sharding is not None and type_sharding.mesh is not None
    is_explicit = mesh is not None and not mesh.empty and mesh.are_all_axes_explicit
    if sharding is None and (on_mesh or is_explicit):
        sharding = aval.sharding
    return ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding, weak_type=aval.weak_type)


def _restore(*values: Any) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(**dict(zip(_fields, values, strict=True)))


def argument_aval(x: object) -> AbstractValue:
    """The type of an argument of a function that is only traced.

    It may be a value, or anything that describes one with ``shape`` and ``dtype``.

    Raises:
      TypeError: if it is neither, or a NumPy array of another dtype than those of arrays.

    Example:
      >>> import ricci
      >>> from ricci.api_util import shaped_abstractify
      >>> shaped_abstractify(ricci.ShapeDtypeStruct((2,), "int32"))
      ShapedArray(int32[2])
    """
    try:
        return get_aval(x)
    except TypeError:
        # A NumPy array that is refused holds what no array can, such as texts.
        is_value = isinstance(x, np.ndarray) and x.dtype.kind != "T"
        if not is_value and hasattr(x, "shape") and hasattr(x, "dtype"):
            return _described(x)
        raise


def _described(x: Any) -> AbstractValue:
    dtype = x.dtype if isinstance(x.dtype, np.dtype | ExtendedDType) else np.dtype(x.dtype)
    if isinstance(x, ShapeDtypeStruct):
        return _struct_aval(x)
    if type(x) is AbstractRef or type(x) is ShapedArray:
        return x
    return ShapedArray(x.shape, canonicalize_dtype(dtype), getattr(x, "weak_type", False))


def _struct_aval(x: ShapeDtypeStruct) -> AbstractValue:
    """The type that a ``ShapeDtypeStruct`` describes, with the part of its sharding in types."""
    dtype = explicit_dtype(x.dtype, "ShapeDtypeStruct", named=True)
    aval = ShapedArray(x.shape, dtype, x.weak_type)
    if x.sharding is not None and read_sharding.provider is not None:
        aval = aval.with_sharding(read_sharding.call(aval.ndim, x.sharding))
    # A reference has no weak type: its memory has one dtype, whatever is written to it.
    return AbstractRef(aval.strip_weak_type(), x._memory_space) if x.is_ref else aval


@boundary
def typeof(x: object) -> AbstractValue:
    """The type of an array in a traced function.

    Args:
      x: an array, a tracer, a NumPy array, a Python scalar, or a ``ShapeDtypeStruct``.

    Returns:
      The type, which prints short: a ``ShapedArray`` with shape, dtype, weak type and sharding.

    Raises:
      TypeError: if it is none of these.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.typeof(np.ones((2, 3)))
      ShapedArray(float32[2,3])
    """
    try:
        return _struct_aval(x) if isinstance(x, ShapeDtypeStruct) else get_aval(x)
    except Exception as error:
        leave(error)
        raise


def result_aval(x: object) -> AbstractValue:
    """The type of a value in a function that is traced, which may be a ``ShapeDtypeStruct``.

    A jaxpr with one among its constants has types, and cannot be run.
    """
    return _struct_aval(x) if isinstance(x, ShapeDtypeStruct) else get_aval(x)

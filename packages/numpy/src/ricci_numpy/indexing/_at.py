"""``x.at[index]``: updated copies of an array, in place of assignment to its elements."""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Any, TypedDict, Unpack

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_lax.authoring import resolved_by
from ricci_numpy._promotion import as_operand, convert, is_arraylike, scalar_or_array
from ricci_numpy._traced_calls import call_traced
from ricci_numpy.arrays._broadcasting import broadcast
from ricci_numpy.arrays._creation import asarray
from ricci_numpy.ufuncs._arithmetic import power
from ricci_numpy.ufuncs._binary import divide

from ._brackets import ModeLike, Strategy, as_mode, get_at
from ._entries import check_single_positions, read_index
from ._gather_form import GatherForm, gather_form, indexed_operand

_MODES = lax.GatherScatterMode

_SCATTERS: dict[str, Callable[..., ir.Array]] = {
    "set": lax.scatter,
    "add": lax.scatter_add,
    "subtract": lax.scatter_sub,
    "multiply": lax.scatter_mul,
    "min": lax.scatter_min,
    "max": lax.scatter_max,
}


class UpdateOptions(TypedDict, total=False):
    """The keywords of the methods of ``x.at[index]`` that update; see ``IndexUpdateRef``."""

    indices_are_sorted: bool
    unique_indices: bool
    mode: ModeLike
    out_sharding: Any
    wrap_negative_indices: bool


class IndexUpdateHelper:
    """Type of ``x.at``; indexing it selects the elements to update or to get."""

    __slots__ = ("array",)

    def __init__(self, array: ir.Array):
        self.array = array

    def __getitem__(self, index: ir.Index) -> "IndexUpdateRef":
        return IndexUpdateRef(self.array, index)

    # The private name of JAX, also in classes that libraries derive.
    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


class IndexUpdateRef:
    """Type of ``x.at[index]``; its methods return updated copies of ``x``.

    Every method takes these keywords:

    - ``mode``: what to do about indices out of bounds: ``"drop"`` (the default for updates) leaves
      them out, ``"clip"`` takes the nearest element, ``"promise_in_bounds"`` may do anything;
      for ``get`` there is ``"fill"``.
    - ``indices_are_sorted``, ``unique_indices``: promises that allow faster code.
    - ``wrap_negative_indices``: whether negative indices count from the end.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> x = jnp.zeros(4)
      >>> x.at[1:3].set(5.0).tolist(), x.tolist()  # x stays
      ([0.0, 5.0, 5.0, 0.0], [0.0, 0.0, 0.0, 0.0])
      >>> twice = jnp.array([0, 0])
      >>> x.at[twice].add(1.0).tolist(), x.at[twice].set(1.0).tolist()
      ([2.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0])
      >>> x.at[9].set(1.0).tolist(), x.at[9].get(mode="fill", fill_value=-1.0).tolist()
      ([0.0, 0.0, 0.0, 0.0], -1.0)
      >>> x.at[jnp.array([True, False, True, False])].max(2.0).tolist()
      [2.0, 0.0, 2.0, 0.0]
      >>> update = ricci.jit(lambda x, i: x.at[i].add(1.0), donate_argnums=0)  # in place
      >>> update(jnp.zeros(3), 1).tolist()
      [0.0, 1.0, 0.0]

    See also:
      ``numpy.where``, for masks; ``ops.segment_sum``, for sums by group.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: ir.Array, index: ir.Index):
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: ModeLike = None,
        fill_value: ir.ArrayLike | None = None,
        out_sharding: object = None,
        wrap_negative_indices: bool = True,
        strategy: Strategy = "auto",
    ) -> ir.Array:
        """``x[index]`` with a choice of what happens to indices out of bounds.

        Args:
          mode: ``"fill"`` gives ``fill_value`` there, ``"clip"`` the nearest element.
          fill_value: a scalar; by default NaN, or the extreme value of an integer dtype.
          out_sharding: the result's sharding.
          strategy: the operation that is used: ``"gather"``; ``"dynamic_slice"``, for ints, scalars
            and slices of step 1 or -1; ``"static_slice"``, for ints within bounds and slices; or
            by default whichever is the fastest for the index.

        Raises:
          IndexError: as ``x[index]``, or if an int is out of bounds for ``"static_slice"``.
          TypeError: as ``x[index]``, or if the strategy does not take such an index.
          ValueError: if there is no such mode or strategy, or the strategy does not take the mode.
        """
        if out_sharding is not None:
            return resolved_by(
                out_sharding,
                lambda: self.get(
                    indices_are_sorted=indices_are_sorted,
                    unique_indices=unique_indices,
                    mode=mode,
                    fill_value=fill_value,
                    wrap_negative_indices=wrap_negative_indices,
                    strategy=strategy,
                ),
            )
        if fill_value is not None:
            fill_value = _static_fill(fill_value, mode)
        return get_at(
            self.array,
            self.index,
            mode=mode,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            fill_value=fill_value,
            wrap_negative_indices=wrap_negative_indices,
            strategy=strategy,
        )

    def set(self, values: ir.ArrayLike, **options: Unpack[UpdateOptions]) -> ir.Array:
        """A copy of ``x`` with ``x[index] = values``; of repeated indices, one is written."""
        return _update("set", self, values, **options)

    def add(self, values: ir.ArrayLike, **options: Unpack[UpdateOptions]) -> ir.Array:
        """A copy of ``x`` with ``x[index] += values``; repeated indices add up."""
        return _update("add", self, values, **options)

    def subtract(self, values: ir.ArrayLike, **options: Unpack[UpdateOptions]) -> ir.Array:
        """A copy of ``x`` with ``x[index] -= values``; repeated indices add up."""
        return _update("subtract", self, values, **options)

    def multiply(self, values: ir.ArrayLike, **options: Unpack[UpdateOptions]) -> ir.Array:
        """A copy of ``x`` with ``x[index] *= values``; repeated indices multiply."""
        return _update("multiply", self, values, **options)

    mul = multiply

    def min(self, values: ir.ArrayLike, **options: Unpack[UpdateOptions]) -> ir.Array:
        """A copy of ``x`` with ``x[index] = minimum(x[index], values)``."""
        return _update("min", self, values, **options)

    def max(self, values: ir.ArrayLike, **options: Unpack[UpdateOptions]) -> ir.Array:
        """A copy of ``x`` with ``x[index] = maximum(x[index], values)``."""
        return _update("max", self, values, **options)

    def divide(self, values: ir.ArrayLike, **options: Unpack[UpdateOptions]) -> ir.Array:
        """A copy of ``x`` with ``x[index] /= values``; repeated indices divide repeatedly."""
        return divide(*self._with_factors(values, options))

    def power(self, values: ir.ArrayLike, **options: Unpack[UpdateOptions]) -> ir.Array:
        """A copy of ``x`` with ``x[index] **= values``."""
        return power(*self._with_factors(values, options))

    def _with_factors(
        self, values: ir.ArrayLike, options: UpdateOptions
    ) -> tuple[ir.Array, ir.Array]:
        # Factors of 1 elsewhere: x / 1 and x ** 1 leave elements unchanged, and repeated indices
        # have their product as factor. A scalar may be a literal, which is not indexed.
        ones = asarray(lax.full_like(self.array, 1))
        factors = _update("multiply", IndexUpdateRef(ones, self.index), values, **options)
        return self.array, factors

    def apply(
        self,
        func: Callable[[ir.Array], ir.ArrayLike],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: ModeLike = None,
        wrap_negative_indices: bool = True,
    ) -> ir.Array:
        """A copy of ``x`` with ``x[index] = func(x[index])``, ``func`` being elementwise.

        Repeated indices apply it repeatedly.
        """
        x = self.array
        index = read_index(x.shape, self.index)
        check_single_positions(index)
        form, operands = gather_form(
            index, wrap_negative_indices, positions_as_operands=not ir.is_recording()
        )
        flags = bool(indices_are_sorted), bool(unique_indices)
        settings = form, flags, as_mode(mode)
        if ir.is_recording():
            return _applied(func, *settings, x, *operands)
        body = lambda x, *operands: _applied(func, *settings, x, *operands)
        return call_traced("apply", func, body, settings, x, *operands)


def _applied(
    func: Callable[[ir.Array], ir.ArrayLike],
    form: GatherForm,
    flags: tuple[bool, bool],
    mode: lax.GatherScatterMode | None,
    x: ir.Array,
    *operands: ir.ArrayLike,
) -> ir.Array:
    """``x.at[index].apply(func)``; the flags are whether indices are sorted and unique."""
    plan = form.plan(list(operands))
    if 0 in plan.shape:
        return x
    shape = plan.final_shape()
    # As JAX's jaxpr has them: zeros in place of updates, which no operation uses.
    broadcast(scalar_or_array(0, x.dtype, False), shape)
    updated = lax.scatter_apply(
        indexed_operand(x, form.added),
        asarray(_no_indices()) if plan.indices is None else plan.indices,
        func,
        plan.scatter_dimensions(),
        update_shape=plan.shape if plan.new else shape,
        indices_are_sorted=flags[0] or plan.is_regular,
        unique_indices=flags[1] or plan.is_regular,
        mode=mode,
    )
    return lax.squeeze(updated, form.added) if form.added else updated


def _static_fill(value: ir.ArrayLike, mode: ModeLike) -> ir.ArrayLike | None:
    if isinstance(getattr(value, "dtype", None), ir.ExtendedDType):
        if as_mode(mode) is not lax.GatherScatterMode.FILL_OR_DROP:
            return None  # unused
        raise TypeError(
            f"x.at[...].get: fill_value must be a number, got {value!r}. Read in another mode, and "
            "select among the results."
        )
    value = np.asarray(value) if hasattr(type(value), "aval") else value
    if np.ndim(value):
        raise ValueError(
            f"x.at[...].get: fill_value must be a scalar, got shape {np.shape(value)}."
        )
    return ir.static_number(value.item() if isinstance(value, np.ndarray | np.generic) else value)


def _no_indices() -> np.ndarray:
    return np.zeros((0,), np.int32)


def _update(
    operation: str,
    target: IndexUpdateRef,
    values: ir.ArrayLike,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: ModeLike = None,
    out_sharding: object = None,
    wrap_negative_indices: bool = True,
) -> ir.Array:
    if out_sharding is not None:
        return resolved_by(
            out_sharding,
            lambda: _update(
                operation,
                target,
                values,
                indices_are_sorted=indices_are_sorted,
                unique_indices=unique_indices,
                mode=mode,
                wrap_negative_indices=wrap_negative_indices,
            ),
        )
    x = target.array
    values = as_operand(values) if is_arraylike(values) else asarray(values)
    # Other ints are converted later, with the array, by the usual promotion.
    if type(values) is int and (ir.is_narrowed(x.dtype) or x.dtype == np.uint32):
        values = ir.exact_scalar(values, x.dtype)  # it may be larger than the default dtype holds
    recording = ir.is_recording()
    index = read_index(x.shape, target.index)
    check_single_positions(index)
    form, operands = gather_form(index, wrap_negative_indices, positions_as_operands=not recording)
    _check_dtypes(x, values)
    settings = {
        "form": form,
        "operation": operation,
        "mode": as_mode(mode),
        "indices_are_sorted": indices_are_sorted,
        "unique_indices": unique_indices,
    }
    if recording:
        return _scatter(x, values, *operands, **settings)
    return _scatter_step(x, values, *operands, **settings)


def _publish_methods() -> None:
    """Wrap the methods for tracebacks; in signatures, replace ``**options`` by the keywords."""
    options = list(signature(_update).parameters.values())[3:]
    kind = Parameter.POSITIONAL_OR_KEYWORD
    leading = [Parameter("self", kind), Parameter("values", kind)]
    for name in ("get", "apply", "mul", *_SCATTERS, "divide", "power"):
        method = ir.api_boundary(getattr(IndexUpdateRef, name))
        if name not in ("get", "apply"):
            setattr(method, "__signature__", Signature([*leading, *options]))  # noqa: B010
        setattr(IndexUpdateRef, name, method)


_publish_methods()


def _check_dtypes(x: ir.Array, values: ir.ArrayLike) -> None:
    aval = ir.get_aval(x)
    values_aval = ir.get_aval(values)
    if values_aval.dtype == aval.dtype:
        return
    dtype, _ = ir.lattice_result_type(
        (aval.dtype, aval.weak_type), (values_aval.dtype, values_aval.weak_type)
    )
    if dtype != aval.dtype:
        ir.warn_user(
            # The first words are JAX's, by which libraries filter and expect this warning.
            "scatter inputs have incompatible types: cannot safely cast value from "
            f"dtype={values_aval.dtype} to dtype={aval.dtype}. This will be an error: convert the "
            "values with astype, or the array.",
            FutureWarning,
        )


def _scatter(
    x: ir.Array,
    values: ir.ArrayLike,
    *operands: ir.ArrayLike,
    form: GatherForm,
    operation: str,
    mode: lax.GatherScatterMode | None,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> ir.Array:
    x_aval = ir.get_aval(x)
    values_aval = ir.get_aval(values)
    plan = form.plan(list(operands))
    indices = _no_indices() if plan.indices is None else plan.indices
    if 0 in plan.shape:
        return x
    # The update is computed in the promoted dtype and converted back: int[i] += 0.5 adds before it
    # rounds, where converting 0.5 first would add 0.
    dtype, weak = ir.lattice_result_type(
        (x_aval.dtype, x_aval.weak_type), (values_aval.dtype, values_aval.weak_type)
    )
    x = convert(x, dtype, weak)
    values = scalar_or_array(values, dtype, weak)
    values = _fit(values, plan.final_shape())
    # The values have the shape of ``x[index]``. Scatter wants them without the dimensions that
    # ``None`` adds, and in the order of the operand, not reversed.
    if plan.new:
        values = lax.squeeze(values, plan.new)
    if plan.reverse:
        values = lax.rev(values, plan.reverse)
    result = _SCATTERS[operation](
        indexed_operand(x, form.added),
        indices,
        values,
        plan.scatter_dimensions(),
        indices_are_sorted=indices_are_sorted or plan.is_regular,
        unique_indices=unique_indices or plan.is_regular,
        mode=mode,
    )
    if form.added:
        result = lax.squeeze(result, form.added)
    return convert(result, x_aval.dtype, x_aval.weak_type)


def _fit(values: ir.ArrayLike, shape: tuple[int, ...]) -> ir.ArrayLike:
    values_shape = np.shape(values)
    fits = len(values_shape) <= len(shape) and all(
        a in (1, b) for a, b in zip(values_shape[::-1], shape[::-1], strict=False)
    )
    if not fits:
        raise ValueError(
            f"the values to write have shape {values_shape}, which does not broadcast to {shape}, "
            "the shape of the indexed elements."
        )
    return broadcast(values, shape)


_scatter_step = ir.composite("at_update")(_scatter)


def at(x: ir.Array) -> IndexUpdateHelper:
    """Updated copies of ``x``: ``x.at[index].set(values)`` and more; see ``IndexUpdateRef``."""
    return IndexUpdateHelper(x)

"""``ffi_call``: a compiled function registered with XLA, its layouts and static attributes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

import ricci_ir as ir
from ricci_lax.callbacks._vmap_methods import by_vmap_method, check_vmap_method, vmap_methods
from ricci_lax.effects._tokens import AllowedEffect
from ricci_stablehlo import Lowering, Value, attribute, batch_annotations, batch_partitionable

__all__ = ["FfiEffect", "ffi_call", "ffi_call_p"]

# From the fastest varying dimension to the slowest, as XLA writes it.
type MinorToMajor = tuple[int, ...]


def read_layouts(
    what: str, layouts: Sequence[Any] | None, avals: Sequence[ir.AbstractValue]
) -> tuple[MinorToMajor, ...]:
    """Read the layouts of all operands, or of all results.

    Args:
      what: the argument's name.
      layouts: for each of them a ``Layout``, the dimensions from slowest to fastest varying, or
        ``None`` for the usual order; ``None`` for the usual order of all.
      avals: their types.

    Raises:
      TypeError: if one is none of these.
      ValueError: if there are more or fewer, or one is not a permutation of the dimensions.
    """
    ranks = [_rank(aval) for aval in avals]
    if layouts is None:
        return tuple(tuple(range(n - 1, -1, -1)) for n in ranks)
    if not isinstance(layouts, Sequence) or isinstance(layouts, str):
        raise TypeError(
            f"ffi_call: {what} must be a sequence, with a layout or None for each, got {layouts!r}."
        )
    if len(layouts) != len(avals):
        kind = "operands" if what == "input_layouts" else "results"
        raise ValueError(
            f"ffi_call: {what} has {len(layouts)} entries, and there are {len(avals)} {kind}. Give "
            "one layout, or None, for each."
        )
    return tuple(
        _read_layout(f"{what}[{i}]", layout, n)
        for i, (layout, n) in enumerate(zip(layouts, ranks, strict=True))
    )


def batched_layout(layout: MinorToMajor) -> MinorToMajor:
    """The layout of a batch, whose dimension is the first and the slowest varying."""
    return (*(d + 1 for d in layout), 0)


def _rank(aval: ir.AbstractValue) -> int:
    return ir.physical_aval(aval).ndim if isinstance(aval, ir.ShapedArray) else 0


def _read_layout(what: str, layout: Any, rank: int) -> MinorToMajor:
    if layout is None:
        return tuple(range(rank - 1, -1, -1))
    order = getattr(layout, "major_to_minor", layout)
    try:
        order = tuple(map(int, order))
    except (TypeError, ValueError):
        raise ValueError(
            f"ffi_call: {what} must be a Layout, or the dimensions from the slowest varying to the "
            f"fastest, got {layout!r}."
        ) from None
    if sorted(order) != list(range(rank)):
        raise ValueError(
            f"ffi_call: {what} is {order}, and must have each of the dimensions "
            f"{tuple(range(rank))} once: from the slowest varying to the fastest."
        )
    return order[::-1]


class Attribute:
    """The value of an attribute. Two are equal if they have the same text in StableHLO.

    So ``1``, ``1.0``, ``True`` and ``np.int32(1)`` are different, unlike in Python.
    """

    __slots__ = ("text", "value")

    def __init__(self, value: object, text: str):
        self.value = value
        self.text = text

    def __eq__(self, other: object) -> bool:
        return type(other) is Attribute and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        match self.value:
            case np.ndarray():
                return f"HashableArray({self.value!r})"
            case Mapping():
                return f"FrozenDict({self.value!r})"
        return repr(self.value)


def static_attributes(
    target: str, attributes: Mapping[str, Any]
) -> tuple[tuple[str, Attribute], ...]:
    """Read the attributes of a call.

    Raises:
      TypeError: if one is of a type that attributes cannot have.
      OverflowError: if an integer does not fit into 64 bits.
    """
    return tuple(
        (name, _read_attribute(target, name, attributes[name])) for name in sorted(attributes)
    )


def _read_attribute(target: str, name: str, value: object) -> Attribute:
    if isinstance(value, np.ndarray):
        value = value.copy()  # it is read again at lowering
    try:
        return Attribute(value, attribute(value))
    except (TypeError, OverflowError) as error:
        raise type(error)(_message(target, name, value, error)) from None


def _message(target: str, name: str, value: object, error: Exception) -> str:
    head = f"ffi_call: the attribute {name!r} of {target!r} cannot be written into the program: "
    if isinstance(value, ir.Tracer):
        return (
            f"{head}it is a traced value, {value.aval.str_short()}. Pass it as an operand, or make "
            "it static."
        )
    if hasattr(value, "aval"):
        return f"{head}it is an array of a device. Pass it as an operand, or np.asarray of it."
    if isinstance(error, OverflowError):
        return f"{head}{error}. Pass np.uint64, a float or a string."
    return (
        f"{head}{error}. Attributes are numbers (a Python int is an int64, a float a float64, a "
        "NumPy scalar of its own type), strings, NumPy arrays, dtypes, and tuples, lists and "
        "dictionaries of them."
    )


class FfiEffect(AllowedEffect):
    """The side effects of a registered function."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "FfiEffect()"


_effects: dict[bool, frozenset] = {False: frozenset(), True: frozenset({FfiEffect()})}

# The calling convention by which attributes are passed.
_TYPED = 4


# The rules


def _no_derivative(*args: object, target_name: str, **params: object) -> NoReturn:
    raise ValueError(
        f"The FFI call to {target_name!r} cannot be differentiated: it has no derivative rule. "
        "Wrap the function that makes the call in custom_jvp or custom_vjp, and give its "
        "derivative there."
    )


def _sharding(avals: Sequence[Any], results: Sequence[Any], **params: object) -> list[Any]:
    """The sharding rule: results vary along the operands' axes, and are sharded by their types."""
    shardings = [aval.type_sharding for aval in avals if aval.type_sharding is not None]
    for sharding in shardings:
        if sharding.unreduced:
            raise NotImplementedError(
                f"ffi_call of {params['target_name']!r}: an operand is unreduced along "
                f"{', '.join(map(repr, sharding.unreduced))}: its sum is not complete. Complete it "
                "before the call, with psum or reshard."
            )
    varying = ir.no_axes.union(*(sharding.varying for sharding in shardings))
    return [_varying(result, varying) for result in results]


def _varying(result: ir.AbstractValue, axes: ir.AxisNames) -> Any:
    sharding = result.type_sharding
    if not (axes and isinstance(result, ir.ShapedArray)):
        return sharding
    if sharding is None:
        return ir.make_type_sharding(None, ((),) * result.ndim, axes)
    return sharding.update(varying=sharding.varying | axes)


def _batch(axis, args, dims, *, result_avals, batch_rank, **params):
    target, method = params["target_name"], params["vmap_method"]
    if method is None:
        raise NotImplementedError(
            f"ffi_call of {target!r} has no vmap_method, by which vmap makes the call for a "
            f"batch. Pass one of {', '.join(map(repr, vmap_methods))}."
        )
    arrays = all(isinstance(t, ir.ShapedArray) for t in (*map(ir.get_aval, args), *result_avals))
    whole = arrays and (method == "broadcast_all" or None not in dims)

    def apply(avals: Sequence[Any], has_batch: Sequence[bool], *operands: object) -> list[Any]:
        options = {**params, "result_avals": avals, "batch_rank": batch_rank}
        # The types, layouts and aliases are those of the batch if it is one call. Called for each
        # example instead, ``has_batch`` is empty and all are as before.
        if has_batch:
            _check_aliases(params["input_output_aliases"], list(map(ir.get_aval, operands)), avals)
            options["batch_rank"] = batch_rank + 1 if whole else 0
            if whole and target in batch_partitionable:
                options["result_avals"] = tuple(
                    axis.batched_aval(a, 0) if isinstance(a, ir.ShapedArray) else a
                    for a in result_avals
                )
            options["input_layouts"] = tuple(
                batched_layout(layout) if batched else layout
                for layout, batched in zip(params["input_layouts"], has_batch, strict=True)
            )
            options["output_layouts"] = tuple(
                batched_layout(layout) if isinstance(aval, ir.ShapedArray) else layout
                for layout, aval in zip(params["output_layouts"], avals, strict=True)
            )
        return ffi_call_p.bind(*operands, **options)

    return by_vmap_method(axis, args, dims, method, result_avals, apply)


def _lower(
    ctx: Lowering,
    *operands: Value,
    target_name: str,
    attributes: tuple[tuple[str, Attribute], ...],
    custom_call_api_version: int,
    has_side_effect: bool,
    input_layouts: tuple[MinorToMajor, ...],
    input_output_aliases: tuple[tuple[int, int], ...],
    legacy_backend_config: str | None,
    output_layouts: tuple[MinorToMajor, ...],
    batch_rank: int,
    **params: object,
) -> list[Value]:
    outs = list(ctx.outs)
    typed = custom_call_api_version >= _TYPED
    config = {name: value.text for name, value in attributes}
    annotations = {}
    if batch_rank and target_name in batch_partitionable:
        avals = [ir.physical_aval(x.aval) for x in operands]
        annotations = batch_annotations(avals, list(map(ir.physical_aval, outs)), batch_rank)
    return ctx.custom_call(
        target_name,
        operands,
        outs,
        backend_config=config if typed else legacy_backend_config or "",
        api_version=min(custom_call_api_version, _TYPED),
        has_side_effect=has_side_effect,
        operand_layouts=input_layouts,
        result_layouts=output_layouts,
        output_operand_aliases={out: operand for operand, out in input_output_aliases},
        **annotations,
    )


ffi_call_p: ir.Primitive = ir.define(
    "ffi_call",
    abstract_eval=lambda *avals, result_avals, **_: list(result_avals),
    multiple_results=True,
    effects=lambda params: _effects[params["has_side_effect"]],
    sharding=ir.own_sharding(_sharding),
    jvp=_no_derivative,
    linearize=_no_derivative,
    transpose=_no_derivative,
    batch=_batch,
    lower=_lower,
    reference=ir.unsupported("compiled functions are called by executables: import ricci_xla"),
    # The number of batch dimensions is for the compiler.
    shown=lambda *, batch_rank, **params: params,
)


# The function


def _result_types(result_shape_dtypes: Any) -> tuple[tuple[ir.AbstractValue, ...], type | None]:
    """The types of the results; and the sequence that they are returned in, if it is one."""
    several = type(result_shape_dtypes) if isinstance(result_shape_dtypes, list | tuple) else None
    leaves = result_shape_dtypes if several else (result_shape_dtypes,)
    return tuple(_result_type(i, leaf) for i, leaf in enumerate(leaves)), several


def _result_type(position: int, result: Any) -> ir.AbstractValue:
    if isinstance(result, ir.AbstractToken | ir.ShapedArray):
        return result.strip_weak_type() if isinstance(result, ir.ShapedArray) else result
    if not (hasattr(result, "shape") and hasattr(result, "dtype")):
        raise ValueError(
            "ffi_call: all elements of result_shape_dtypes must have a shape and a dtype, got "
            f"{result!r:.60} at position {position}. Pass ShapeDtypeStruct(shape, dtype), or a "
            "sequence of such for several results."
        )
    dtype = result.dtype if isinstance(result.dtype, ir.ExtendedDType) else np.dtype(result.dtype)
    return ir.ShapedArray(tuple(result.shape), dtype, sharding=getattr(result, "sharding", None))


def _check_options(
    target_name: object, has_side_effect: object, api_version: object, legacy_config: object
) -> None:
    for name, value, kind, shown in (
        ("target_name", target_name, str, "a string"),
        ("has_side_effect", has_side_effect, bool | np.bool_, "true or false"),
        ("custom_call_api_version", api_version, int, "an int, 1 to 4"),
    ):
        if not isinstance(value, kind):
            raise TypeError(f"ffi_call: {name} must be {shown}, got {value!r}.")
    if api_version < 0:  # pyright: ignore[reportOperatorIssue]
        raise ValueError(f"ffi_call: custom_call_api_version must be 1 to 4, got {api_version}.")
    if legacy_config is None:
        return
    if api_version >= _TYPED:  # pyright: ignore[reportOperatorIssue]
        raise ValueError(
            "ffi_call: legacy_backend_config is for custom_call_api_version < 4, which is "
            f"{api_version}. Pass the values as attributes: ffi_call(...)(*operands, name=value)."
        )
    if not isinstance(legacy_config, str):
        raise ValueError(
            f"ffi_call: legacy_backend_config must be a string, got {legacy_config!r}."
        )


def _aliases(
    aliases: Mapping[int, int] | None, ins: Sequence[Any], outs: Sequence[Any]
) -> tuple[tuple[int, int], ...]:
    pairs = tuple((int(i), int(o)) for i, o in (aliases or {}).items())
    for i, o in pairs:
        for index, avals, kind in ((i, ins, "input"), (o, outs, "output")):
            if not 0 <= index < len(avals):
                raise ValueError(
                    f"ffi_call: input_output_aliases contains {i}: {o}, with the {kind} index "
                    f"{index} outside of the range [0, {len(avals)})."
                )
    _check_aliases(pairs, ins, outs)
    return pairs


def _check_aliases(
    pairs: Sequence[tuple[int, int]], ins: Sequence[Any], outs: Sequence[Any]
) -> None:
    for i, o in pairs:
        x, y = ins[i], outs[o]
        same = (getattr(t, name, None) for name in ("shape", "dtype") for t in (x, y))
        shape_in, shape_out, dtype_in, dtype_out = same
        if (shape_in, dtype_in) != (shape_out, dtype_out):
            raise ValueError(
                f"ffi_call: input_output_aliases contains {i}: {o}, but the operand is "
                f"{x.str_short()} and the result {y.str_short()}. They can share memory if their "
                "types are the same. (Under vmap an operand that is not mapped gets the batch's "
                "dimension only with vmap_method='broadcast_all'.)"
            )


def _operand_type(position: int, x: object) -> ir.AbstractValue:
    try:
        return ir.get_aval(x)
    except TypeError:
        raise TypeError(
            f"ffi_call: operand {position} is {x!r:.60}, of type {type(x).__name__}, which is not "
            "an array. Pass other values by keyword: they are attributes of the call."
        ) from None


@ir.api_boundary
def ffi_call(
    target_name: str,
    result_shape_dtypes: object,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[Any] | None = None,
    output_layouts: Any = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = 4,
    legacy_backend_config: str | None = None,
) -> Callable[..., Any]:
    """Make a function of arrays that calls a compiled function registered with XLA.

    Args:
      target_name: the name that ``register_ffi_target`` registered.
      result_shape_dtypes: the type of the result, with a ``shape`` and a ``dtype``, or
        ``abstract_token``; or a list or tuple of such.
      has_side_effect: whether the call is not dead code, even if its results are unused.
      vmap_method: see ``pure_callback``.
      input_layouts: the order of each operand's elements in memory: a ``Layout``, the dimensions
        from the slowest varying to the fastest, or ``None`` for row-major.
      output_layouts: likewise of the result; of several results a sequence.
      input_output_aliases: maps operands to the results that are to use their memory.
      custom_call_api_version: the calling convention; 4 is the typed one, of ``xla/ffi/api/ffi.h``.
      legacy_backend_config: a string for the function, in conventions before 4.

    Returns:
      ``call(*operands, **attributes)``. Attributes are static parts of the call: a Python number
      as an int64 or float64, a NumPy scalar as its own type; strings, NumPy arrays, dtypes, and
      dictionaries of them.

    Raises:
      ValueError: for types, layouts, aliases or conventions that cannot be; when differentiated.
      TypeError: for an operand that is not an array, an attribute of another type.
      JaxRuntimeError: when run, if no such target is registered, it takes other arguments, or it
        returns an error or throws an exception.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci import ffi
      >>> norm = ffi.ffi_call("my_norm", ricci.ShapeDtypeStruct((), np.dtype("float32")))
      >>> ricci.make_jaxpr(lambda x: norm(x, eps=1e-6))(np.ones(3, np.float32)).out_avals
      [ShapedArray(float32[])]

    Source: StableHLO ``custom_call``.
    """
    _check_options(target_name, has_side_effect, custom_call_api_version, legacy_backend_config)
    check_vmap_method("ffi_call", vmap_method)
    outs, several = _result_types(result_shape_dtypes)
    out_layouts = output_layouts if several or output_layouts is None else (output_layouts,)

    @ir.api_boundary
    def call(*operands: ir.ArrayLike, **attributes: object) -> Any:
        """Call the registered function."""
        if attributes and custom_call_api_version < _TYPED:
            raise ValueError(
                "ffi_call: attributes need custom_call_api_version >= 4, which is "
                f"{custom_call_api_version}. Pass legacy_backend_config, a string."
            )
        ins = [_operand_type(i, x) for i, x in enumerate(operands)]
        results = ffi_call_p.bind(
            *operands,
            attributes=static_attributes(target_name, attributes),
            custom_call_api_version=int(custom_call_api_version),
            has_side_effect=bool(has_side_effect),
            input_layouts=read_layouts("input_layouts", input_layouts, ins),
            input_output_aliases=_aliases(input_output_aliases, ins, outs),
            legacy_backend_config=legacy_backend_config,
            output_layouts=read_layouts("output_layouts", out_layouts, outs),
            result_avals=outs,
            target_name=target_name,
            vmap_method=vmap_method,
            batch_rank=0,
        )
        return several(results) if several else results[0]

    return call

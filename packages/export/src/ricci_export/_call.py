"""Calls of exported functions: a primitive that is lowered to the exported module."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import ricci_ir as ir
from ricci_lax import custom_vjp
from ricci_pytree import PyTreeDef, tree_flatten, tree_flatten_with_path, tree_unflatten
from ricci_stablehlo import Lowering, Value, tokens_at
from ricci_xla import HOST_MEMORY, NamedSharding, canonical_platform
from ricci_xla.exported import (
    argument_names,
    call_exported_main,
    leaf_name,
    sizes_of_call,
    with_sizes,
)

__all__ = ["call_exported_p"]


def differences(in_tree: PyTreeDef, arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> str:
    """Describe the missing and unexpected arguments of a call, in a few lines."""
    expected = set(argument_names(in_tree))
    names_of_call = {leaf_name(path) for path, _ in tree_flatten_with_path(arguments)[0]}
    lines = [
        f"  {what}: {', '.join(sorted(names)[:4])}{', ...' if len(names) > 4 else ''}"
        for what, names in (
            ("missing", expected - names_of_call),
            ("unexpected", names_of_call - expected),
        )
        if names
    ]
    if not lines:
        example = in_tree.unflatten(range(in_tree.num_leaves))
        lines = [f"  expected: {_short(example)}", f"  found:    {_short(arguments)}"]
    return "\n".join(lines)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


class Callee:
    """Properties of an exported function, a parameter of the primitive; compared by identity.

    Attributes:
      in_avals, out_avals: the types of arguments and results.
      in_shardings, out_shardings: their shardings, or None.
      any_platform: whether it may be called on platforms that it was not exported for.
    """

    __slots__ = (
        "any_platform",
        "artifact",
        "effects",
        "fun_name",
        "in_avals",
        "in_shardings",
        "kept_arguments",
        "nr_devices",
        "out_avals",
        "out_shardings",
        "platforms",
    )

    artifact: bytes
    any_platform: bool
    effects: frozenset[ir.Effect]
    fun_name: str
    in_avals: tuple[Any, ...]
    in_shardings: tuple[NamedSharding | None, ...]
    kept_arguments: tuple[int, ...]
    nr_devices: int
    out_avals: tuple[Any, ...]
    out_shardings: tuple[NamedSharding | None, ...]
    platforms: tuple[str, ...]

    def __init__(self, **values: object):
        for name in self.__slots__:
            setattr(self, name, values[name])

    def __repr__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"


def _out_types(*avals: object, exported: Callee) -> list[ir.AbstractValue]:
    shapes = [getattr(aval, "shape", ()) for aval in avals]
    names = [f"argument {i}" for i in range(len(avals))]
    sizes = sizes_of_call(names, exported.in_avals, shapes)
    return [with_sizes(getattr(aval, "plain", aval), sizes) for aval in exported.out_avals]


def _typed_as_exported(
    avals: Sequence[Any], results: Sequence[Any], *, exported: Callee
) -> list[Any]:
    return [getattr(aval, "type_sharding", None) for aval in exported.out_avals]


def _lower(ctx: Lowering, *operands: Value, exported: Callee) -> list[Value]:
    name, platform = exported.fun_name, ctx.platform
    # Exports distinguish cuda and rocm, which lowering calls gpu; the devices tell which it is.
    if platform == "gpu" and ctx.module.devices:
        platform = canonical_platform(ctx.module.devices[0])
    if platform not in exported.platforms and not exported.any_platform:
        raise ValueError(
            f"{name} was exported for the platforms {', '.join(exported.platforms)}, and is called "
            f"on {platform}. Export it with platforms={(*exported.platforms, platform)!r}, "
            "or, if its module runs there unchanged, with disabled_checks=["
            "DisabledSafetyCheck.platform()]."
        )
    count = ctx.module.num_partitions
    if exported.nr_devices not in (1, count):
        raise ValueError(
            f"{name} was exported for {exported.nr_devices} devices, and is called on {count}. "
            f"Call it with arrays that lie on {exported.nr_devices} devices: "
            "exported.in_shardings_jax(mesh) gives their shardings."
        )
    # The order rule puts the tokens ahead of the arguments, so the arrays are the operands after
    # them.
    tokens = [x for x in operands if isinstance(x.aval, ir.AbstractToken)]
    arrays = operands[len(tokens) :]
    index = None
    # A module for several platforms takes the position of the current one as its first argument, by
    # which it selects the code; see JAX's calling convention for exports.
    if len(exported.platforms) > 1:
        index = exported.platforms.index(platform) if platform in exported.platforms else 0
    # Over several devices no tokens are passed: such executables run one after the other.
    passed = tokens if exported.nr_devices == 1 else []
    results = call_exported_main(
        ctx,
        exported.artifact,
        passed,
        [arrays[i] for i in exported.kept_arguments],
        [exported.in_avals[i] for i in exported.kept_arguments],
        exported.out_avals,
        ctx.outs[len(ctx.outs) - len(exported.out_avals) :],
        [exported.in_shardings[i] for i in exported.kept_arguments],
        exported.out_shardings,
        index,
    )
    return results if passed else [*tokens, *results]


def _memory(on_host: Sequence[bool], *, exported: Callee) -> tuple[bool, ...]:
    """The memory rule: the results' exported memory kinds, by default device memory."""
    tokens = (False,) * (len(on_host) - len(exported.in_avals))
    kinds = [None if s is None else s.memory_kind for s in exported.out_shardings]
    return (*tokens, *(kind == HOST_MEMORY for kind in kinds))


_no_derivative = ir.unsupported(
    "an exported module has no derivative; Exported.call has one, if serialized with vjp_order"
)

call_exported_p: ir.Primitive = ir.define(
    "call_exported",
    sharding=ir.makes_sharding(ir.own_sharding(_typed_as_exported, joins=False)),
    abstract_eval=_out_types,
    multiple_results=True,
    memo=False,
    effects=lambda params: params["exported"].effects,
    jvp=_no_derivative,
    linearize=_no_derivative,
    transpose=_no_derivative,
    batch=ir.unsupported(
        "the exported module is for arrays of fixed shapes. Export the mapped function, or "
        "call it in a loop such as lax.map"
    ),
    lower=_lower,
    order=tokens_at(0),
    memory=_memory,
)


def _bind(callee: Callee, *args: object) -> list[Any]:
    return call_exported_p.bind(*args, exported=callee)


class Calls(NamedTuple):
    """The functions that call an exported function.

    Attributes:
      plain: takes and returns flat lists.
      differentiable: the same with a derivative.
    """

    plain: Callable[..., list[Any]]
    differentiable: Callable[..., list[Any]]


def calls_of(callee: Callee, vjp: Callable[[], Any]) -> Calls:
    """The functions that call an exported function, with the derivative ``vjp()``."""
    plain = partial(_bind, callee)
    plain.__name__ = callee.fun_name  # pyright: ignore[reportAttributeAccessIssue]
    call = custom_vjp(plain)

    def forward(*args: object) -> tuple[list[Any], tuple[Any, ...]]:
        return call(*args), args  # the differentiable call, for higher derivatives

    def backward(args: tuple[Any, ...], cotangents: Sequence[Any]) -> tuple[Any, ...]:
        input_cotangents = vjp().call(*args, *cotangents)
        kinds: list[Any] = [ir.get_aval(ct) for ct in input_cotangents]
        pairs = zip(input_cotangents, kinds, strict=True)
        # A rule of ``custom_vjp`` returns None as the cotangent of an integer.
        return tuple(None if kind.dtype == ir.float0 else ct for ct, kind in pairs)

    call.defvjp(forward, backward)
    return Calls(plain, call)


def call_flat(
    calls: Calls,
    fun_name: str,
    in_tree: PyTreeDef,
    in_avals: Sequence[Any],
    out_tree: PyTreeDef,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call an exported function with pytrees.

    Raises:
      TypeError: if an argument is not an array.
      ValueError: if the arguments have another structure, shape or dtype than those of the export.
    """
    leaves, tree = tree_flatten((args, kwargs))
    if tree != in_tree:
        raise ValueError(
            f"{fun_name} was exported for arguments of another structure:\n"
            f"{differences(in_tree, (args, kwargs))}"
        )
    avals: list[Any] = []
    for i, (x, expected) in enumerate(zip(leaves, in_avals, strict=True)):
        try:
            avals.append(ir.get_aval(x))
        except TypeError as error:
            name = argument_names(in_tree)[i]
            raise TypeError(
                f"{name} of {fun_name} must be an array of type {expected.str_short()}, got "
                f"{x!r:.60} of type {type(x).__name__}."
            ) from error
    for i, (aval, expected) in enumerate(zip(avals, in_avals, strict=True)):
        static = ir.is_static_shape(expected.shape)
        if aval.dtype != expected.dtype or (static and aval.shape != expected.shape):
            name = argument_names(in_tree)[i]
            raise ValueError(
                f"{name} of {fun_name} was exported as {expected.str_short()}, and the call has "
                f"{aval.str_short()}. {_advice(leaves[i], expected)}"
            )
    # Solving for the symbolic sizes raises an error if shapes or constraints do not fit.
    if not all(ir.is_static_shape(aval.shape) for aval in in_avals):
        sizes_of_call(argument_names(in_tree), in_avals, [aval.shape for aval in avals])
    return tree_unflatten(out_tree, calls.differentiable(*leaves))


def _advice(x: object, expected: ir.ShapedArray) -> str:
    """The suggested fix for an argument of another type."""
    if getattr(x, "dtype", None) == expected.dtype:  # the argument's type was narrowed to 32 bits
        return "64-bit types are off: call it inside `with enable_x64(True):`."
    return "Convert it, or export the function for this type."

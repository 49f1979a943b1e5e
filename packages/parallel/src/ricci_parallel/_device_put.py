"""``device_put`` of arrays and, as an operation of the program, of traced values."""

from typing import Any

from ricci_autodiff import Zero
from ricci_ir import Tracer, context, define, eval_trace
from ricci_pytree import flatten_axes, tree_flatten, tree_unflatten
from ricci_stablehlo import Lowering, Value
from ricci_xla import ArrayCopySemantics, NamedSharding, as_sharding
from ricci_xla import device_put as put_arrays

from ._sharding_constraint import mesh_of_sharding

_reuse = ArrayCopySemantics.REUSE_INPUT
_copy = ArrayCopySemantics.ALWAYS_COPY
_donate = ArrayCopySemantics.DONATE_INPUT


def _device_put_jvp(primals, tangents, *, devices, srcs, copy_semantics):
    results = device_put_p.bind(*primals, devices=devices, srcs=srcs, copy_semantics=copy_semantics)
    given = [i for i, t in enumerate(tangents) if type(t) is not Zero]
    if not given:
        return results, list(tangents)
    moved = iter(
        device_put_p.bind(
            *(tangents[i] for i in given),
            devices=tuple(devices[i] for i in given),
            srcs=tuple(srcs[i] for i in given),
            copy_semantics=tuple(copy_semantics[i] for i in given),
        )
    )
    return results, [t if type(t) is Zero else next(moved) for t in tangents]


def _device_put_transpose(cts, *args, devices, srcs, copy_semantics):
    """Cotangents go back to where the operands came from."""
    given = [i for i, ct in enumerate(cts) if type(ct) is not Zero]
    moved = iter(
        device_put_p.bind(
            *(cts[i] for i in given),
            devices=tuple(srcs[i] for i in given),
            srcs=tuple(devices[i] for i in given),
            copy_semantics=(_copy,) * len(given),
        )
    )
    return [None if type(ct) is Zero else next(moved) for ct in cts]


def _placed(ctx: Lowering, x: Value, device: Any) -> Value:
    kind = getattr(device, "_memory_kind", None)
    if ctx.platform == "cpu" or kind in (None, "device"):
        return x
    (result,) = ctx.custom_call(
        "annotate_device_placement",
        [x],
        [x.aval],
        api_version=1,
        has_side_effect=True,
        annotations=f'mhlo.frontend_attributes = {{_xla_buffer_placement = "{kind}"}}',
    )
    return result


def _device_put_lower(ctx: Lowering, *operands: Value, devices, **params) -> list[Value]:
    return [_placed(ctx, x, device) for x, device in zip(operands, devices, strict=True)]


def _device_put_eager(*args, devices, srcs, copy_semantics):
    return [
        put_arrays(x, where, donate=how == _donate, may_alias=False if how == _copy else None)
        for x, where, how in zip(args, devices, copy_semantics, strict=True)
    ]


def _device_put_mesh(*, devices, **params):
    meshes = (mesh_of_sharding(d) for d in devices if isinstance(d, NamedSharding))
    return next((mesh for mesh in meshes if mesh is not None), None)


device_put_p = define(
    "device_put",
    abstract_eval=lambda *avals, **params: list(avals),
    multiple_results=True,
    jvp=_device_put_jvp,
    transpose=_device_put_transpose,
    batch=lambda axis, args, dims, **params: (device_put_p.bind(*args, **params), dims),
    lower=_device_put_lower,
    mesh=_device_put_mesh,
    eager=_device_put_eager,
)


def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None
) -> Any:
    """Put arrays, NumPy arrays and Python scalars in a pytree on devices.

    Inside a traced function it says where values should be. The compiler may place them
    elsewhere; their cotangents go back to where the values were.

    Args:
      x: the pytree.
      device: a device or a sharding, or a pytree of them that is a prefix of ``x``; without it,
        arrays stay where they are and other values go to the default device.
      src: where ``x`` is now, in the same form.
      donate: whether arrays' memory may be reused, or a prefix of ``x`` of such.
      may_alias: ``False``: the result shares no memory with ``x``; ``True``: it may.

    Returns:
      The pytree with arrays for leaves.

    Raises:
      TypeError: if a leaf is nothing an array can be made of.
      ValueError: if ``device`` has other parts than devices and shardings, or is no prefix.
      IndivisibleError: if a sharding cannot cut an array evenly.

    Example:
      >>> import numpy as np
      >>> device_put({"a": np.arange(3)})["a"]
      Array([0, 1, 2], dtype=int32)
    """
    leaves, tree = tree_flatten(x)
    if context.trace is eval_trace and not any(isinstance(leaf, Tracer) for leaf in leaves):
        return put_arrays(x, device, src=src, donate=donate, may_alias=may_alias)
    places = tuple(flatten_axes("device_put: device", tree, device))
    for place in places:
        if place is not None:
            as_sharding(place)
    donated = flatten_axes("device_put: donate", tree, donate)
    aliased = flatten_axes("device_put: may_alias", tree, may_alias)
    how = tuple(
        _donate if give else _copy if alias is False else _reuse
        for give, alias in zip(donated, aliased, strict=True)
    )
    srcs = tuple(flatten_axes("device_put: src", tree, src))
    results = device_put_p.bind(*leaves, devices=places, srcs=srcs, copy_semantics=how)
    return tree_unflatten(tree, results)

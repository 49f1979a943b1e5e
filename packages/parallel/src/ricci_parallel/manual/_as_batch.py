"""``shard_map`` as nested ``vmap``, one for each mesh axis.

Backends without devices evaluate it so; compiled functions never do.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ricci_batching import vmap
from ricci_ir import Array, AxisNames, Jaxpr, eval_jaxpr, get_aval
from ricci_lax import index_in_dim, reshape, transpose
from ricci_xla import PartitionSpec

from ._specs import AnyMesh, Specs, named_axes_of, spec_axes


def as_batch(
    *operands: Array,
    in_specs: Specs,
    jaxpr: Jaxpr,
    mesh: AnyMesh,
    newly_manual_axes: AxisNames,
    out_specs: Specs,
    **params: object,
) -> list[Array]:
    """Compute the results of ``shard_map`` on whole arrays; the parameters are the primitive's."""
    sizes = {name: n for name, n in mesh.shape.items() if name in newly_manual_axes}
    fun: Callable[..., Sequence[Array]] = lambda *xs: eval_jaxpr(jaxpr, jaxpr.consts, *xs)
    for name, size in reversed(sizes.items()):
        dims = tuple(0 if name in named_axes_of(spec) else None for spec in in_specs)
        fun = vmap(fun, dims, axis_name=name, axis_size=size)
    pairs = zip(operands, in_specs, strict=True)
    shards = [_shards_of(x, spec, sizes) for x, spec in pairs]
    return [_joined(x, spec, sizes) for x, spec in zip(fun(*shards), out_specs, strict=True)]


def _shards_of(x: Array, spec: PartitionSpec, sizes: dict[Hashable, int]) -> Array:
    """Return an array's shards along a leading dimension for each axis that its spec names."""
    shape: list[int] = []
    place: dict[Hashable, int] = {}
    trailing = []
    for size, part in zip(_shape(x), _padded(spec, len(_shape(x))), strict=True):
        for name in spec_axes(part):
            place[name] = len(shape)
            shape.append(sizes[name])
            size //= sizes[name]
        trailing.append(len(shape))
        shape.append(size)
    leading = [place[name] for name in sizes if name in place]
    return transpose(reshape(x, shape), (*leading, *trailing))


def _joined(x: Array, spec: PartitionSpec, sizes: dict[Hashable, int]) -> Array:
    """Join shards that lie along a leading dimension for each axis."""
    named = [name for name in sizes if name in named_axes_of(spec)]
    for i, name in reversed(list(enumerate(sizes))):
        if name not in named:  # replicated along this axis
            x = index_in_dim(x, 0, i, keepdims=False)
    rank = len(_shape(x)) - len(named)
    order: list[int] = []
    shape: list[int] = []
    for dim, part in enumerate(_padded(spec, rank)):
        places = [*(named.index(name) for name in spec_axes(part)), len(named) + dim]
        order += places
        size = 1
        for place in places:
            size *= _shape(x)[place]
        shape.append(size)
    return reshape(transpose(x, order), shape)


def _padded(spec: PartitionSpec, rank: int) -> Sequence[Any]:
    return (*spec, *(None,) * (rank - len(spec)))


def _shape(x: Array) -> tuple[int, ...]:
    return get_aval(x).shape

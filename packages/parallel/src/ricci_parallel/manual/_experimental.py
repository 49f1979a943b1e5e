"""``jax.experimental.shard_map``, the earlier form of ``shard_map``."""

from collections.abc import Callable
from typing import Any

import ricci_ir as ir

from ._shard_map import shard_map
from ._specs import AnyMesh

__all__: list[str] = []


def experimental_shard_map(
    f: Callable[..., Any],
    mesh: AnyMesh,
    in_specs: ir.PyTree,
    out_specs: ir.PyTree,
    check_rep: bool = True,
) -> Callable[..., Any]:
    """Return a function that runs ``f`` on shards; deprecated in favour of ``shard_map``.

    Args:
      f, mesh, in_specs, out_specs: as of ``shard_map``.
      check_rep: its ``check_vma``.

    Returns:
      A function of the whole arrays.

    Example:
      >>> import warnings
      >>> import ricci
      >>> from ricci.experimental.shard_map import shard_map
      >>> from ricci.sharding import Mesh, PartitionSpec as P
      >>> warnings.simplefilter("ignore", DeprecationWarning)
      >>> mesh = Mesh(ricci.devices()[:1], "i")
      >>> f = shard_map(lambda x: 2 * x, mesh, P("i"), P("i"), check_rep=False)
      >>> f(ricci.numpy.arange(2)).tolist()
      [0, 2]
    """
    ir.warn_user(
        "experimental.shard_map is deprecated: call shard_map, whose check_vma replaces check_rep.",
        DeprecationWarning,
    )
    return shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep)

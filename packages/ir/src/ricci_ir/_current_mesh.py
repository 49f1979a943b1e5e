"""The current mesh and further settings of shardings that traces depend on.

A mesh is opaque to this package: its class belongs to the runtime, and ``ricci_parallel`` lets
users set it.
"""

from ._settings import State, define_context

__all__ = ["current_mesh", "lenient_sharding", "varying_axes"]

# ``current_mesh.value`` is this thread's current abstract mesh, or None, and
# ``with current_mesh(mesh):`` overrides it. An equation stores the mesh that it was traced under,
# so that its rules find it when they run later, as when a jaxpr is transposed.
current_mesh: State = define_context("current_mesh", per_equation=True)

# Whether types have varying axes: inside of ``shard_map`` with ``check_vma``.
varying_axes: State = define_context("varying_axes", default=False, per_equation=True)

# Whether an ambiguous sharding of a result is resolved instead of refused. It is where the result
# is resharded to a known sharding afterwards: by ``out_sharding``, and when equations are
# transposed.
lenient_sharding: State = define_context("lenient_sharding", default=False, per_equation=True)

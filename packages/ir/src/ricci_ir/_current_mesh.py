"""The mesh axes in force, on which traced programs depend; ``ricci_parallel`` lets users set them.

A mesh is opaque here: its class belongs to the runtime.
"""

from ._settings import State, define_context

__all__ = [
    "current_mesh",
    "lenient_sharding",
    "varying_axes",
]

# ``current_mesh.value`` is the abstract mesh in force in this thread, or None, and
# ``with current_mesh(mesh):`` puts another in force. An operation holds the mesh that it was
# applied under, so that its rules find it when they run later, as when a program is transposed.
current_mesh: State = define_context("current_mesh", held=True)

# Whether a program on shards is being traced whose types say along which axes values vary.
varying_axes: State = define_context("varying_axes", default=False, held=True)

# Whether an ambiguous sharding of a result is resolved instead of refused. It is where the result
# is moved to a known sharding afterwards: by ``out_sharding``, and when equations are transposed.
lenient_sharding: State = define_context("lenient_sharding", default=False, held=True)

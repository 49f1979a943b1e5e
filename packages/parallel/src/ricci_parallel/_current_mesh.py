"""The mesh in force: set for a thread, or for the tracing of a program."""

from ricci_ir import Override, context, current_mesh, eval_trace, exported
from ricci_xla import AbstractMesh, Mesh, device_mesh, empty_abstract_mesh, empty_mesh

__all__ = ["get_abstract_mesh", "get_mesh", "set_mesh", "use_abstract_mesh"]


def get_mesh() -> Mesh:
    """The mesh of devices that ``set_mesh`` set in this thread; without axes if none is set.

    Raises:
      ValueError: inside a traced function, which may serve several meshes with the same axes.

    Example:
      >>> import ricci
      >>> ricci.get_mesh().empty
      True
    """
    if context.trace is not eval_trace:
        raise ValueError(
            "get_mesh gives the devices that a function is called with, which are not known while "
            "it is traced. Call it outside, or call get_abstract_mesh() for the axes."
        )
    return device_mesh.value or empty_mesh


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the mesh in force, also while a function is traced; none if no mesh is set.

    Example:
      >>> import ricci
      >>> ricci.get_abstract_mesh().axis_names
      ()
    """
    return current_mesh.value or empty_abstract_mesh


@exported
class set_mesh:
    """Set the mesh that programs run on and that a ``PartitionSpec`` refers to, in this thread.

    As a statement it holds until another mesh is set; ``set_mesh(None)`` ends that. In
    ``with set_mesh(mesh):`` it holds until the end of the block, which restores the former mesh.

    Args:
      mesh: the mesh. Arrays are made on all its devices, and functions are run on them, unless
        their arguments are committed elsewhere, which is an error.

    Raises:
      ValueError: if ``mesh`` is not a ``Mesh`` or has axes of type ``Manual``, or inside a traced
        function.

    Example:
      >>> import ricci
      >>> from ricci.sharding import Mesh
      >>> with ricci.set_mesh(Mesh(ricci.devices()[:1], "x")):
      ...     ricci.get_mesh().axis_names
      ('x',)
    """

    def __init__(self, mesh: Mesh | None):
        if mesh is not None and not isinstance(mesh, Mesh):
            raise ValueError(
                f"set_mesh takes a Mesh or None, got {mesh!r} of type {type(mesh).__name__}. For "
                "the axes alone there is use_abstract_mesh."
            )
        if mesh is not None and mesh.manual_axes:
            raise ValueError(
                f"set_mesh: {mesh} has axes of type Manual, {mesh.manual_axes}, which are for "
                "functions that shard_map runs. Make the mesh with AxisType.Auto or "
                "AxisType.Explicit, and name the axes that shard_map is to handle there."
            )
        if context.trace is not eval_trace:
            raise ValueError(
                "set_mesh was called inside a traced function, whose devices are those that it is "
                "called with. Set the mesh outside."
            )
        # In force from here on: ``set_mesh(mesh)`` is a statement as well as a context manager.
        if mesh is not None and mesh.empty:
            mesh = None
        self.prev_abstract_mesh: object = current_mesh.swap(
            None if mesh is None else mesh.abstract_mesh
        )
        self.prev_mesh: object = device_mesh.swap(mesh)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        device_mesh.swap(self.prev_mesh)
        current_mesh.swap(self.prev_abstract_mesh)


@exported
class use_abstract_mesh:
    """Put other axes in force for tracing: ``with use_abstract_mesh(mesh):``.

    Args:
      mesh: the axes.

    Raises:
      ValueError: if ``mesh`` is not an ``AbstractMesh``, or if it is entered where a mesh of
        another size is in force.

    Example:
      >>> import ricci
      >>> from ricci.sharding import AbstractMesh
      >>> with ricci.use_abstract_mesh(AbstractMesh((4,), ("x",))):
      ...     ricci.get_abstract_mesh().axis_names
      ('x',)
    """

    def __init__(self, mesh: AbstractMesh):
        if not isinstance(mesh, AbstractMesh):
            raise ValueError(
                f"use_abstract_mesh takes an AbstractMesh, got {mesh!r} of type "
                f"{type(mesh).__name__}. The axes of a Mesh are mesh.abstract_mesh."
            )
        self.mesh: AbstractMesh = mesh
        self._entered: list[Override] = []

    def __enter__(self) -> None:
        current: AbstractMesh | None = current_mesh.value
        outer = current or empty_abstract_mesh
        if not outer.empty and not self.mesh.empty and outer.size != self.mesh.size:
            raise ValueError(
                f"use_abstract_mesh cannot change the number of devices: {outer} is in force, of "
                f"size {outer.size}, but {self.mesh} has size {self.mesh.size}."
            )
        # A mesh without axes may still describe the device that kernels are traced for.
        is_unset = self.mesh.empty and self.mesh.abstract_device is None
        block = current_mesh(None if is_unset else self.mesh)
        block.__enter__()
        self._entered.append(block)

    def __exit__(self, *exception: object) -> None:
        self._entered.pop().__exit__(*exception)

"""``Exported``: a lowered function with its types, shardings and calling convention."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ricci_ir import AbstractValue, Effect, api_boundary
from ricci_pytree import PyTreeDef
from ricci_xla import AbstractMesh, Mesh, NamedSharding, Sharding
from ricci_xla.exported import module_text, write_export, write_jax_export

from ._call import Callee, Calls, call_flat, calls_of
from ._checks import DisabledSafetyCheck
from ._records import record_of

__all__ = ["Exported"]


@dataclass(frozen=True)
class Exported:
    """A function that was exported for given types of arguments.

    Attributes:
      fun_name: the function's name.
      in_tree, out_tree: the structures of ``(args, kwargs)`` and of the result.
      in_avals, out_avals: the type of each leaf.
      in_shardings_hlo, out_shardings_hlo: ``None`` for each leaf: shardings name mesh axes, see
        ``in_shardings_jax``.
      nr_devices: the number of devices that it runs on.
      platforms: the platforms that it can be called on.
      ordered_effects, unordered_effects: its side effects.
      disabled_safety_checks: the disabled checks.
      mlir_module_serialized: the module, as portable StableHLO.
      calling_convention_version: the calling convention of the module's ``@main``.
      module_kept_var_idx: the positions of the arguments that ``@main`` takes.
      uses_global_constants: whether ``@main`` takes the index of the platform.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import export
      >>> x = ricci.ShapeDtypeStruct((3,), jnp.float32)
      >>> exported = export.export(ricci.jit(lambda x: 2 * x))(x)
      >>> exported.in_avals, exported.nr_devices
      ((ShapedArray(float32[3]),), 1)
      >>> exported.call(jnp.ones(3)).tolist()
      [2.0, 2.0, 2.0]
    """

    fun_name: str
    in_tree: PyTreeDef
    in_avals: tuple[AbstractValue, ...]
    out_tree: PyTreeDef
    out_avals: tuple[AbstractValue, ...]
    _in_named_shardings: tuple[NamedSharding | None, ...]
    _out_named_shardings: tuple[NamedSharding | None, ...]
    in_shardings_hlo: tuple[Any, ...]
    out_shardings_hlo: tuple[Any, ...]
    nr_devices: int
    platforms: tuple[str, ...]
    ordered_effects: tuple[Effect, ...]
    unordered_effects: tuple[Effect, ...]
    disabled_safety_checks: Sequence[DisabledSafetyCheck]
    mlir_module_serialized: bytes
    calling_convention_version: int
    module_kept_var_idx: tuple[int, ...]
    uses_global_constants: bool
    _get_vjp: Callable[["Exported"], "Exported"] | None

    def __str__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"

    def mlir_module(self, serialized: bool = True) -> Any:
        """The StableHLO text of the module.

        Args:
          serialized: whether to return text; else jaxlib's MLIR module.
        """
        return module_text(self.mlir_module_serialized, parsed=not serialized)

    @api_boundary
    def call(self, *args: object, **kwargs: object) -> Any:
        """Call the exported function.

        It can be called inside other functions, under ``jit``, in loops, and under ``grad`` if
        ``has_vjp()``.

        Raises:
          TypeError: if an argument is not an array.
          ValueError: if arguments have another structure, shape or dtype than the function was
            exported for, or the call runs on another platform or number of devices.

        Example:
          >>> import numpy as np
          >>> import ricci
          >>> from ricci import export
          >>> export.export(ricci.jit(lambda x: x + 1))(np.float32([1, 2])).call(np.float32([3, 4]))
          Array([4., 5.], dtype=float32)
        """
        return call_flat(
            self._calls, self.fun_name, self.in_tree, self.in_avals, self.out_tree, args, kwargs
        )

    @cached_property
    def _calls(self) -> Calls:
        callee = Callee(
            artifact=self.mlir_module_serialized,
            any_platform=DisabledSafetyCheck.platform() in self.disabled_safety_checks,
            effects=frozenset((*self.ordered_effects, *self.unordered_effects)),
            fun_name=self.fun_name,
            in_avals=self.in_avals,
            in_shardings=self._in_named_shardings,
            kept_arguments=self.module_kept_var_idx,
            nr_devices=self.nr_devices,
            out_avals=self.out_avals,
            out_shardings=self._out_named_shardings,
            platforms=self.platforms,
        )
        return calls_of(callee, self.vjp)

    def has_vjp(self) -> bool:
        """Whether the function has a derivative, so that it can be called under ``grad``."""
        return self._get_vjp is not None

    def vjp(self) -> "Exported":
        """The exported derivative: a function of the arguments' and then the results' cotangents.

        All arguments and results are flat. Cotangents of integers have the dtype ``float0``.

        Raises:
          ValueError: if it has none.
        """
        if self._get_vjp is None:
            raise ValueError(
                f"{self.fun_name} has no vjp: it was serialized without one. Write it with "
                "serialize(vjp_order=1); for derivatives of derivatives with a higher order."
            )
        return self._vjp

    @cached_property
    def _vjp(self) -> "Exported":
        assert self._get_vjp is not None
        return self._get_vjp(self)

    def serialize(
        self, vjp_order: int = 0, *, format: Literal["ricci", "jax"] = "ricci"
    ) -> bytearray:
        """Write the exported function to bytes, for ``deserialize``.

        Args:
          vjp_order: how many times the loaded function can be differentiated.
          format: ``"ricci"``, or ``"jax"`` for a file that JAX reads. That has no weak types,
            and takes dicts and mesh axes with strings as names only.

        Raises:
          TypeError: if an argument or result has a node of a class that is not registered for it
            with ``register_pytree_node_serialization``, or if the format cannot represent a part.
          ValueError: if the function has fewer derivatives.

        Example:
          >>> import numpy as np
          >>> import ricci
          >>> from ricci import export
          >>> data = export.export(ricci.jit(lambda x: x + 1))(np.float32(1)).serialize()
          >>> export.deserialize(data).in_avals
          (ShapedArray(float32[]),)
        """
        if format not in ("ricci", "jax"):
            raise ValueError(f"format must be 'ricci' or 'jax', got {format!r}")
        record = record_of(self, vjp_order)
        return bytearray((write_export if format == "ricci" else write_jax_export)(record))

    def in_shardings_jax(
        self, mesh: Mesh | AbstractMesh | None = None
    ) -> Sequence[Sharding | None]:
        """The shardings of the arguments.

        Args:
          mesh: a mesh with the axes that the function was exported with; without it the shardings
            are over a mesh without devices.

        Returns:
          A sharding for each leaf of the arguments; ``None`` where it is unspecified.

        Raises:
          ValueError: if the mesh has other axes.
        """
        return tuple(self._on_mesh(s, mesh) for s in self._in_named_shardings)

    def out_shardings_jax(
        self, mesh: Mesh | AbstractMesh | None = None
    ) -> Sequence[Sharding | None]:
        """The shardings of the results, as ``in_shardings_jax`` gives those of the arguments."""
        return tuple(self._on_mesh(s, mesh) for s in self._out_named_shardings)

    def _on_mesh(
        self, sharding: NamedSharding | None, mesh: Mesh | AbstractMesh | None
    ) -> NamedSharding | None:
        if sharding is None or mesh is None:
            return sharding
        exported_mesh = sharding.mesh
        if (exported_mesh.shape_tuple, exported_mesh.axis_types) != (
            mesh.shape_tuple,
            mesh.axis_types,
        ):
            raise ValueError(
                f"{self.fun_name} was exported over a mesh with other axes:\n"
                f"  exported with {exported_mesh}\n  called with   {mesh}"
            )
        return NamedSharding(mesh, sharding.spec, memory_kind=sharding.memory_kind)

"""``Exported``: a lowered function with its types and calling convention, and its file record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ricci_ir import AbstractValue, Effect, api_boundary, is_symbolic_dim
from ricci_pytree import PyTreeDef
from ricci_xla import AbstractMesh, Mesh, NamedSharding, Sharding
from ricci_xla.exported import (
    ExportedRecord,
    decode_abstract_sharding,
    encode_abstract_sharding,
    module_text,
    node_forms,
    read_export,
    signature_of,
    write_export,
    write_jax_export,
)
from ricci_xla.files import FileError, encode_tree, encode_type

from ._call import Callee, Calls, call_flat, calls_of
from ._checks import DisabledSafetyCheck

__all__ = ["Exported", "deserialize"]


def record_of(exported: Any, vjp_order: int) -> ExportedRecord:
    """The record of an exported function with its derivatives up to an order.

    Raises:
      TypeError: if its trees have nodes that cannot be written.
      ValueError: if it has fewer derivatives.
    """
    if vjp_order > 0 and not exported.has_vjp():
        raise ValueError(
            f"{exported.fun_name} cannot be serialized with vjp_order={vjp_order}: it was read "
            "from a file without a derivative of that order. Export it again."
        )
    return ExportedRecord(
        fun_name=exported.fun_name,
        in_tree=_tree(exported, "an argument", exported.in_tree),
        in_types=[encode_type(aval) for aval in exported.in_avals],
        out_tree=_tree(exported, "a result", exported.out_tree),
        out_types=[encode_type(aval) for aval in exported.out_avals],
        in_shardings=[encode_abstract_sharding(s) for s in exported._in_named_shardings],
        out_shardings=[encode_abstract_sharding(s) for s in exported._out_named_shardings],
        nr_devices=exported.nr_devices,
        platforms=list(exported.platforms),
        ordered_effects=[_effect(exported, e) for e in exported.ordered_effects],
        unordered_effects=[_effect(exported, e) for e in exported.unordered_effects],
        disabled_checks=[str(check) for check in exported.disabled_safety_checks],
        module=exported.mlir_module_serialized,
        calling_convention=exported.calling_convention_version,
        kept_args=list(exported.module_kept_var_idx),
        uses_global_constants=exported.uses_global_constants,
        constraints=_constraints(exported),
        vjp=record_of(exported.vjp(), vjp_order - 1) if vjp_order > 0 else None,
    )


def _constraints(exported: Any) -> list[str]:
    """The constraints on the symbolic sizes of an exported function."""
    sizes = (n for aval in exported.in_avals for n in aval.shape if is_symbolic_dim(n))
    scope = next((n.scope for n in sizes), None)
    return [] if scope is None else [constraint.text for constraint in scope.constraints]


def _effect(exported: Any, effect: object) -> str:
    """The name of an effect's class, after checking that its instances are equal."""
    try:
        # A file has the name of the class only, so an effect must be equal to a new instance of it.
        if type(effect)() == effect:
            return effect_name(effect)
    except TypeError:  # the class takes arguments
        pass
    raise ValueError(
        f"{exported.fun_name} cannot be serialized: its effect {effect!r} differs from "
        f"{type(effect).__qualname__}(), which a reader of the file would create. Give the "
        "class __eq__ and __hash__ without arguments, or keep the effect out of the function."
    )


def effect_name(effect: object) -> str:
    """The name of an effect's class."""
    return f"{type(effect).__module__}.{type(effect).__qualname__}"


def _tree(exported: Any, what: str, tree: Any) -> Any:
    try:
        return encode_tree(tree, node_forms)
    except TypeError as error:
        raise ValueError(
            f"{exported.fun_name} cannot be serialized: in {what}, {error}. Register it with "
            "export.register_pytree_node_serialization or register_namedtuple_serialization."
        ) from error


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
        # An export has no devices, only axes; any mesh with equal axes may take the place of its
        # own.
        return NamedSharding(mesh, sharding.spec, memory_kind=sharding.memory_kind)


def deserialize(blob: bytes | bytearray | memoryview) -> Exported:
    """Read a function that ``Exported.serialize`` wrote, in Ricci's format or in JAX's.

    Args:
      blob: the bytes.

    Returns:
      The function.

    Raises:
      FileError: if they are neither, are damaged, or of an unsupported version.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci import export
      >>> data = export.export(ricci.jit(lambda x: x + 1))(np.float32(1)).serialize()
      >>> export.deserialize(data).call(np.float32(2))
      Array(3., dtype=float32)
    """
    source = "the bytes given to deserialize"
    record = read_export(blob, source)
    try:
        return exported_of(record)
    except FileError as error:
        raise FileError(f"{source}: {error}") from error


def exported_of(record: ExportedRecord) -> Exported:
    """The exported function that a record describes.

    Raises:
      FileError: if the record has an unknown entry.
    """
    vjp = None if record.vjp is None else exported_of(record.vjp)
    signature = signature_of(record)
    return Exported(
        fun_name=record.fun_name,
        in_tree=signature.in_tree,
        in_avals=signature.in_types,
        out_tree=signature.out_tree,
        out_avals=signature.out_types,
        _in_named_shardings=tuple(map(decode_abstract_sharding, record.in_shardings)),
        _out_named_shardings=tuple(map(decode_abstract_sharding, record.out_shardings)),
        in_shardings_hlo=(None,) * len(record.in_types),
        out_shardings_hlo=(None,) * len(record.out_types),
        nr_devices=record.nr_devices,
        platforms=tuple(record.platforms),
        ordered_effects=tuple(map(_effect_named, record.ordered_effects)),
        unordered_effects=tuple(map(_effect_named, record.unordered_effects)),
        disabled_safety_checks=tuple(map(DisabledSafetyCheck, record.disabled_checks)),
        mlir_module_serialized=record.module,
        calling_convention_version=record.calling_convention,
        module_kept_var_idx=tuple(record.kept_args),
        uses_global_constants=record.uses_global_constants,
        _get_vjp=None if vjp is None else lambda _: vjp,
    )


def _effect_named(name: str) -> Effect:
    """An effect of the class of a name, whose module must be imported."""
    # Only classes that are already defined are considered. To import a module by a name from a file
    # would run code that the file's author chose.
    todo: list[type[Effect]] = [Effect]
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        if f"{kind.__module__}.{kind.__qualname__}" == name:
            effect = kind()
            assert effect_name(effect) == name
            return effect
    raise FileError(
        f"the exported function has the effect {name}, whose class is not imported. Import the "
        "module that defines it, and read the file again."
    )

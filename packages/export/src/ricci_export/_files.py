"""Deserialization of exported functions."""

from ricci_ir import Effect
from ricci_xla.exported import ExportedRecord, decode_abstract_sharding, read_export, signature_of
from ricci_xla.files import FileError

from ._checks import DisabledSafetyCheck
from ._exported import Exported
from ._records import effect_name

__all__ = ["deserialize"]


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
        ordered_effects=tuple(map(_effect, record.ordered_effects)),
        unordered_effects=tuple(map(_effect, record.unordered_effects)),
        disabled_safety_checks=tuple(map(DisabledSafetyCheck, record.disabled_checks)),
        mlir_module_serialized=record.module,
        calling_convention_version=record.calling_convention,
        module_kept_var_idx=tuple(record.kept_args),
        uses_global_constants=record.uses_global_constants,
        _get_vjp=None if vjp is None else lambda _: vjp,
    )


def _effect(name: str) -> Effect:
    """An effect of the class of a name, whose module must be imported."""
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

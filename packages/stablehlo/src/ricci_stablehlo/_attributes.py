"""The MLIR text of attributes: values, shardings, and what custom calls take."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ricci_ir import AxisNames, Parts, ShapedArray, is_static_shape, no_axes

from ._types import dense, element_type, scalar_literal, string

__all__ = ["attribute", "batch_annotations", "batch_partitionable", "custom_call_attributes"]
__all__ += ["parts_text"]

# Other names are written as string literals, which MLIR accepts as names too.
_BARE = r"[A-Za-z_][A-Za-z0-9_$.]*"
_INT64 = range(-(2**63), 2**63)


def attribute_name(name: str) -> str:
    """Return an attribute's name, quoted unless it is a bare MLIR identifier."""
    return name if re.fullmatch(_BARE, name) else string(name)


def attribute(value: object) -> str:
    """Return the text of an attribute.

    A Python number is an ``i64`` or an ``f64``, a NumPy scalar keeps its dtype, an array is
    ``dense``, a string or bytes a string, a dtype a type, a tuple or a list an array of attributes,
    and a dictionary one of attributes.

    Raises:
      TypeError: for any other value.
      OverflowError: for an integer outside of 64 bits.

    Example:
      >>> attribute({"eps": 1e-6, "axes": np.int32([0, 1])})
      '{axes = dense<[0, 1]> : tensor<2xi32>, eps = 1.0e-06 : f64}'
    """
    # Booleans come first: they are ints as well, and would become ``1 : i64``.
    if value is True or value is False:
        return "true" if value else "false"
    match value:
        case np.bool_():
            return attribute(value.item())
        case str() | bytes():
            return string(value)
        # MLIR has no attribute for a complex scalar, nor for Python objects and dates.
        case np.generic() if value.dtype.kind in "cOMm":
            raise TypeError(f"a scalar of dtype {value.dtype} is not an attribute")
        case np.generic():
            return f"{scalar_literal(value)} : {element_type(value.dtype)}"
        case int():
            if value not in _INT64:
                raise OverflowError(f"{value} does not fit into 64 bits")
            return f"{value} : i64"
        case float():
            return f"{scalar_literal(np.float64(value))} : f64"
        case np.ndarray():
            if value.dtype.kind in "OSUMm":
                raise TypeError(f"an array of dtype {value.dtype} is not an attribute")
            size = "".join(f"{n}x" for n in value.shape)
            return f"{dense(value)} : tensor<{size}{element_type(value.dtype)}>"
        case np.dtype():
            return element_type(value)
        case tuple() | list():
            return f"[{', '.join(map(attribute, value))}]"
        case Mapping():
            return dictionary({name: attribute(x) for name, x in value.items()})
    raise TypeError(f"a value of type {type(value).__name__} is not an attribute")


def dictionary(fields: Mapping[str, str]) -> str:
    """Return the text of a dictionary of attributes from the text of each.

    Raises:
      TypeError: if a name is not a string.
    """
    for name in fields:
        if not isinstance(name, str):
            raise TypeError(f"invalid attribute name {name!r}: names are strings")
    # Sorted, so that the order of the fields does not change the text, nor the cache key.
    written = (f"{attribute_name(name)} = {fields[name]}" for name in sorted(fields))
    return f"{{{', '.join(written)}}}"


def custom_call_attributes(
    target: str,
    result_count: int,
    *,
    backend_config: Mapping[str, str] | str | None = None,
    api_version: int = 4,
    has_side_effect: bool = False,
    operand_layouts: Sequence[Sequence[int]] | None = None,
    result_layouts: Sequence[Sequence[int]] | None = None,
    output_operand_aliases: Mapping[int, int] | None = None,
) -> dict[str, str]:
    """Return the texts of the attributes of a custom call; see ``Lowering.custom_call``."""
    attrs = {"api_version": f"{api_version} : i32", "call_target_name": string(target)}
    if isinstance(backend_config, str):
        attrs["backend_config"] = string(backend_config)
    elif backend_config is not None:
        attrs["backend_config"] = dictionary(backend_config)
    if has_side_effect:
        attrs["has_side_effect"] = "true"
    if operand_layouts is not None:
        attrs["operand_layouts"] = f"[{', '.join(map(_layout, operand_layouts))}]"
    if result_layouts is not None:
        attrs["result_layouts"] = f"[{', '.join(map(_layout, result_layouts))}]"
    if output_operand_aliases:
        aliases = ", ".join(
            "#stablehlo.output_operand_alias<"
            f"output_tuple_indices = [{'' if result_count == 1 else out}], "
            f"operand_index = {operand}, operand_tuple_indices = []>"
            for out, operand in output_operand_aliases.items()
        )
        attrs["output_operand_aliases"] = f"[{aliases}]"
    return attrs


def _layout(order: Sequence[int]) -> str:
    # An empty tensor has a literal of its own: ``dense<>``, without brackets.
    values = ", ".join(map(str, order))
    return f"dense<{'[' + values + ']' if len(order) else ''}> : tensor<{len(order)}xindex>"


# Targets that may be sharded along the batch; runtimes add them.
batch_partitionable: set[str] = set()


def batch_annotations(
    ins: Sequence[ShapedArray], outs: Sequence[ShapedArray], batch_rank: int
) -> dict[str, Any]:
    """Return the arguments of ``custom_call`` by which the compiler shards a call on a batch.

    Args:
      ins, outs: the types of operands and results. Those of at least ``batch_rank`` dimensions
        have the batch dimensions first.
      batch_rank: the number of batch dimensions.
    """
    is_static = all(is_static_shape(x.shape) for x in (*ins, *outs))  # the rule contains sizes
    rule = f"sdy.sharding_rule = {_sharding_rule(ins, outs, batch_rank)}" if is_static else ""
    return {"metadata": (("num_batch_dims", str(batch_rank)),), "annotations": rule}


def _sharding_rule(ins: Sequence[ShapedArray], outs: Sequence[ShapedArray], batch_rank: int) -> str:
    """Return the Shardy rule of the call, which shards batch dimensions only."""
    # Each call of ``factor`` makes one more factor. Dimensions with the same factor are sharded
    # alike, so that operands and results share those of the batch and no others.
    sizes: list[int] = []

    def factor(size: int) -> str:
        sizes.append(size)
        return _factor_name(len(sizes) - 1)

    batch = [factor(size) for size in (ins[0] if ins else outs[0]).shape[:batch_rank]]
    # An operand without the batch, such as a scalar, is passed whole to each shard.
    shared = lambda aval: batch if len(aval.shape) >= batch_rank else []
    dims = lambda aval: f"[{', '.join([*shared(aval), *map(factor, aval.shape[batch_rank:])])}]"
    operands, results = (", ".join(map(dims, avals)) for avals in (ins, outs))
    factors = ", ".join(f"{_factor_name(i)}={size}" for i, size in enumerate(sizes))
    return f"#sdy.op_sharding_rule<({operands})->({results}) {{{factors}}}, custom>"


def _factor_name(i: int) -> str:
    """Return the name of a factor: i, j, … z, then z_1, z_2, …"""
    # Shardy names its factors so.
    letters = "ijklmnopqrstuvwxyz"
    return letters[i] if i < len(letters) else f"z_{i - len(letters) + 1}"


def parts_text(mesh: Any, parts: Parts, rank: int, unreduced: AxisNames = no_axes) -> str:
    """Return the Shardy text of a sharding over the ``Explicit`` axes of a mesh.

    If the mesh also has ``Auto`` axes, the compiler may shard further along these.

    Args:
      mesh: the abstract mesh.
      parts: the axes of each dimension; further dimensions are replicated.
      rank: the number of dimensions.
      unreduced: the axes along which the array is a partial sum.
    """
    parts = (*parts, *((),) * (rank - len(parts)))
    # The question mark leaves a dimension open: the compiler may shard it further over ``Auto``
    # axes.
    further = ["?"] if mesh.auto_axes else []
    dims = (", ".join([*(string(str(n)) for n in part), *further]) for part in parts)
    text = f"[{', '.join(f'{{{dim}}}' for dim in dims)}]"
    # An ``Explicit`` axis that shards no dimension has to be named as replicated, or the compiler
    # might use it for the open dimensions.
    used = {*unreduced, *(name for part in parts for name in part)}
    unused = [n for n in mesh.explicit_axes if n not in used] if further else []
    terms = [n for n in mesh.axis_names if n in unreduced]
    for kind, names in (("replicated", unused), ("unreduced", terms)):
        if names:
            text += f", {kind}={{{', '.join(string(str(n)) for n in names)}}}"
    return text

"""Precisions and algorithms of contractions."""

import enum
from typing import NamedTuple

import numpy as np
from ml_dtypes import (
    bfloat16,
    float8_e4m3b11fnuz,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
)

from ricci_ir import DTypeLike, TupleRecord, default_matmul_precision, exported, lattice_result_type
from ricci_stablehlo import element_type

__all__ = ["DotAlgorithm", "DotAlgorithmPreset", "Precision", "PrecisionLike"]

_precision_names = {
    "highest": 2,
    "float32": 2,
    "high": 1,
    "bfloat16_3x": 1,
    "tensorfloat32": 1,
    "default": 0,
    "bfloat16": 0,
    "fastest": 0,
}


@exported
class Precision(enum.Enum):
    """The precision of a contraction or a convolution on devices that offer several.

    ``DEFAULT`` is the fastest, ``HIGHEST`` computes in the operands' own precision. A precision
    can also be had by one of its names, such as ``Precision("tensorfloat32")``.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> "Precision | None":
        number = _precision_names.get(value) if isinstance(value, str) else None
        return None if number is None else cls(number)

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


@exported
class DotAlgorithm(NamedTuple):
    """The algorithm of a contraction, spelled out as StableHLO does.

    Attributes:
      lhs_precision_type, rhs_precision_type: the dtypes that the operands are rounded to.
      accumulation_type: the dtype that products are added in.
      lhs_component_count, rhs_component_count: into how many parts the operands are decomposed.
      num_primitive_operations: how many products of parts are added.
      allow_imprecise_accumulation: whether sums may be accumulated in fewer bits.

    Source: StableHLO ``dot_algorithm``.
    """

    lhs_precision_type: DTypeLike
    rhs_precision_type: DTypeLike
    accumulation_type: DTypeLike
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class _tf32:
    """TensorFloat-32, a precision but not a dtype."""


# XLA's compiler for CPUs rejects the other presets.
_cpu_presets = frozenset(
    {"F16_F16_F16", "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6"}
    | {"F32_F32_F32", "F64_F64_F64"}
)


class _Preset(TupleRecord):
    """A preset; ``None`` as a type is the dtype of the operand or the result.

    ``operands`` are the dtypes that operands may have (float8 if empty), ``results`` those of
    the result; values of another dtype are converted from or to the first.
    """

    precision: type | None
    accumulation: type | None
    operands: tuple[type, ...]
    results: tuple[type, ...]
    operations: int = 1
    imprecise: bool = False


_f16, _f32, _f64 = np.float16, np.float32, np.float64
_float8 = (float8_e4m3fn, float8_e5m2, float8_e5m2fnuz, float8_e4m3fnuz, float8_e4m3b11fnuz)
_presets: dict[str, _Preset] = {
    "ANY_F8_ANY_F8_F32": _Preset(None, _f32, (), ()),
    "ANY_F8_ANY_F8_F32_FAST_ACCUM": _Preset(None, _f32, (), (), 1, True),
    "ANY_F8_ANY_F8_ANY": _Preset(None, None, (), ()),
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM": _Preset(None, None, (), ()),
    "F16_F16_F16": _Preset(_f16, _f16, (_f16,), (_f16,)),
    "F16_F16_F32": _Preset(_f16, _f32, (_f16,), (_f32, _f16)),
    "BF16_BF16_BF16": _Preset(bfloat16, bfloat16, (bfloat16, _f32), (bfloat16,)),
    "BF16_BF16_F32": _Preset(bfloat16, _f32, (bfloat16, _f32), (_f32, bfloat16)),
    "BF16_BF16_F32_X3": _Preset(bfloat16, _f32, (_f32,), (_f32,), 3),
    "BF16_BF16_F32_X6": _Preset(bfloat16, _f32, (_f32,), (_f32,), 6),
    "BF16_BF16_F32_X9": _Preset(bfloat16, _f32, (_f32,), (_f32,), 9),
    "TF32_TF32_F32": _Preset(_tf32, _f32, (_f32,), (_f32,)),
    "TF32_TF32_F32_X3": _Preset(_tf32, _f32, (_f32,), (_f32,), 3),
    "F32_F32_F32": _Preset(_f32, _f32, (_f32,), (_f32,)),
    "F64_F64_F64": _Preset(_f64, _f64, (_f64,), (_f64,)),
}


@exported
class DotAlgorithmPreset(enum.Enum):
    """Algorithms of contractions by name: the operands' precisions, then the accumulator's.

    ``X3``, ``X6`` and ``X9`` add up that many products of the parts of decomposed operands.
    """

    DEFAULT = 1
    ANY_F8_ANY_F8_F32 = 2
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 3
    ANY_F8_ANY_F8_ANY = 4
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 5
    F16_F16_F16 = 6
    F16_F16_F32 = 7
    BF16_BF16_BF16 = 8
    BF16_BF16_F32 = 9
    BF16_BF16_F32_X3 = 10
    BF16_BF16_F32_X6 = 11
    BF16_BF16_F32_X9 = 12
    TF32_TF32_F32 = 13
    TF32_TF32_F32_X3 = 14
    F32_F32_F32 = 15
    F64_F64_F64 = 16

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self) -> str:
        return self.name

    @property
    def supported_lhs_types(self) -> tuple[type, ...] | None:
        """The dtypes that the left operand may have; ``None`` for any."""
        preset = _presets.get(self.name)
        return preset.operands or None if preset else None

    @property
    def supported_rhs_types(self) -> tuple[type, ...] | None:
        """The dtypes that the right operand may have; ``None`` for any."""
        return self.supported_lhs_types

    @property
    def accumulation_type(self) -> type | None:
        """The dtype of accumulation; ``None`` for the result's."""
        preset = _presets.get(self.name)
        return preset.accumulation if preset else None

    def supported_output_types(
        self, lhs_dtype: DTypeLike, rhs_dtype: DTypeLike
    ) -> tuple[type, ...] | None:
        """The dtypes that the product of operands of two dtypes may have; ``None`` for any.

        Example:
          >>> import numpy as np
          >>> from ricci import lax
          >>> lax.DotAlgorithmPreset.F16_F16_F32.supported_output_types(np.float16, np.float16)
          (<class 'numpy.float32'>, <class 'numpy.float16'>)
        """
        preset = _presets.get(self.name)
        if preset is None or preset.accumulation is None:
            return None
        if not preset.results:
            return (_f32, _f16, bfloat16, *_float8)
        if len(preset.results) == 1:
            return preset.results
        # The first result is always possible, another one only for operands of that dtype.
        pairs = (np.dtype(lhs_dtype), False), (np.dtype(rhs_dtype), False)
        # Strong types (``False``): the operands are arrays, whose dtypes count in full.
        promoted = lattice_result_type(*pairs)[0]
        return tuple(t for t in preset.results if t is preset.results[0] or promoted == t)


PrecisionLike = (
    None
    | str
    | Precision
    | tuple[str, str]
    | tuple[Precision, Precision]
    | DotAlgorithm
    | DotAlgorithmPreset
)

# The parameter ``precision`` of primitives.
CanonicalPrecision = None | tuple[Precision, Precision] | DotAlgorithm | DotAlgorithmPreset


def canonicalize_precision(precision: PrecisionLike) -> CanonicalPrecision:
    """The parameter ``precision`` of a primitive, from a user's argument.

    Returns:
      ``None``, a pair of ``Precision``, a ``DotAlgorithm`` or a ``DotAlgorithmPreset``.

    Raises:
      ValueError: if it is none of the accepted forms.
    """
    if precision is None:
        precision = default_matmul_precision.value
        if precision is None:
            return None
    if isinstance(precision, Precision):
        return (precision, precision)
    if isinstance(precision, DotAlgorithm | DotAlgorithmPreset):
        return precision
    if isinstance(precision, str):
        if precision in _precision_names:
            return (Precision(precision), Precision(precision))
        if precision in DotAlgorithmPreset.__members__:
            return DotAlgorithmPreset[precision]
    if isinstance(precision, tuple | list) and len(precision) == 2:
        # A pair of ``None`` asks for the default of the setting, as ``None`` does.
        if all(p is None for p in precision):
            return canonicalize_precision(None)
        if all(isinstance(p, Precision) or p is None or p in _precision_names for p in precision):
            lhs, rhs = (Precision.DEFAULT if p is None else Precision(p) for p in precision)
            return (lhs, rhs)
    raise ValueError(
        f"{precision} is not a precision. Give None, a lax.Precision or a name "
        f"({', '.join(_precision_names)}), a pair of those for lhs and rhs, or a "
        "lax.DotAlgorithm, DotAlgorithmPreset or its name."
    )


def is_symmetric(precision: CanonicalPrecision) -> bool:
    """Whether both operands of a product are treated alike, so that they may be exchanged."""
    if isinstance(precision, DotAlgorithm):
        lhs = precision.lhs_precision_type, precision.lhs_component_count
        return lhs == (precision.rhs_precision_type, precision.rhs_component_count)
    return not isinstance(precision, tuple) or precision[0] is precision[1]


def precision_config(precision: CanonicalPrecision) -> str:
    """The bracketed list of StableHLO's ``precision``."""
    if isinstance(precision, tuple) and not isinstance(precision, DotAlgorithm):
        return f"[{precision[0].name}, {precision[1].name}]"
    return "[DEFAULT, DEFAULT]"


class ResolvedAlgorithm(TupleRecord):
    """The StableHLO text of an algorithm, and the dtypes that operands and result have in it."""

    text: str
    lhs: np.dtype
    rhs: np.dtype
    out: np.dtype


def resolve_algorithm(
    precision: CanonicalPrecision, platform: str, lhs: np.dtype, rhs: np.dtype, out: np.dtype
) -> ResolvedAlgorithm | None:
    """The algorithm for operands of these dtypes; ``None`` if none was requested.

    Raises:
      ValueError: if the platform, or the operands' dtypes, do not allow it.
    """
    explicit = isinstance(precision, DotAlgorithm)
    if not explicit:
        if precision is DotAlgorithmPreset.DEFAULT or type(precision) is not DotAlgorithmPreset:
            return None
    # An error here names the algorithm; the compiler's would name an instruction.
    if platform == "cpu" and (explicit or precision.name not in _cpu_presets):
        raise ValueError(
            f"dot_general: no CPU can compute products by the algorithm '{precision}'. Use "
            "another precision there."
        )
    if explicit:
        return ResolvedAlgorithm(_algorithm_text(precision), lhs, rhs, out)
    preset = _presets[precision.name]
    if preset.precision is None:
        if not (_is_float8(lhs) and _is_float8(rhs)):
            raise ValueError(
                f"dot_general: the algorithm '{precision}' multiplies float8 numbers, but the "
                f"operands are {lhs} and {rhs}. Convert them, or choose another algorithm."
            )
    else:
        # Operands of other dtypes are converted before the product, and the result after it.
        lhs, rhs = (_storage(dtype, preset.operands) for dtype in (lhs, rhs))
        out = _storage(out, preset.results)
    text = _algorithm_text(
        DotAlgorithm(
            preset.precision or lhs,
            preset.precision or rhs,
            preset.accumulation or np.float32,
            num_primitive_operations=preset.operations,
            allow_imprecise_accumulation=preset.imprecise,
        )
    )
    return ResolvedAlgorithm(text, lhs, rhs, out)


def _storage(dtype: np.dtype, accepted: tuple[type, ...]) -> np.dtype:
    """The dtype itself if it is accepted, otherwise the first that is."""
    return dtype if dtype in map(np.dtype, accepted) else np.dtype(accepted[0])


def _is_float8(dtype: np.dtype) -> bool:
    return dtype.name.startswith("float8")


def _algorithm_text(algorithm: DotAlgorithm) -> str:
    def spell(dtype: DTypeLike) -> str:
        return "tf32" if dtype is _tf32 else element_type(np.dtype(dtype))

    return (
        f"<lhs_precision_type = {spell(algorithm.lhs_precision_type)}, "
        f"rhs_precision_type = {spell(algorithm.rhs_precision_type)}, "
        f"accumulation_type = {spell(algorithm.accumulation_type)}, "
        f"lhs_component_count = {algorithm.lhs_component_count}, "
        f"rhs_component_count = {algorithm.rhs_component_count}, "
        f"num_primitive_operations = {algorithm.num_primitive_operations}, "
        "allow_imprecise_accumulation = "
        f"{str(algorithm.allow_imprecise_accumulation).lower()}>"
    )

"""Variants of examples: in other dtypes, with empty arrays, with scalars.

Abstract evaluation tells which variants a primitive accepts: it raises for the others.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ricci_ir import Primitive, bfloat16, issubdtype, jaxprs_in_params

from ._example import Example
from ._rules import Topic, exempt_rules

# The dtypes of each family; the first one is preferred.
FAMILIES: dict[str, tuple[np.dtype, ...]] = {
    family: tuple(map(np.dtype, dtypes))
    for family, dtypes in {
        "bool": (np.bool_,),
        "int": (np.int32, np.int8, np.int16, np.int64),
        "uint": (np.uint32, np.uint8, np.uint16, np.uint64),
        "float16": (np.float16,),
        "bfloat16": (bfloat16,),
        "float32": (np.float32,),
        "float64": (np.float64,),
        "complex": (np.complex64, np.complex128),
    }.items()
}
_FAMILY_OF = {dtype: family for family, dtypes in FAMILIES.items() for dtype in dtypes}

# The errors that abstract evaluation raises for a dtype, a shape, or a missing axis.
REFUSALS = (TypeError, ValueError, IndexError)

# The position of the first of a group of operands that share a dtype, or a parameter's name.
Role = int | str


# Parameters that choose the dtype of the result; other dtype parameters repeat an operand's dtype.
_FREE = frozenset({"dtype", "index_dtype", "new_dtype", "preferred_element_type"})


# The families that may be exempt: abstract evaluation accepts them, backends do not.
REFUSED_FAMILIES = frozenset({"bool", "int", "uint", "complex"})


def exempt(primitive: Primitive) -> Mapping[Topic, str]:
    """The aspects of a primitive that are exempt from the laws, with reasons."""
    return exempt_rules.get(primitive.name, {})


def roles(example: Example) -> list[tuple[Role, np.dtype]]:
    """The independent dtypes of an example, with the first operand or parameter that has each."""
    first_operands: dict[np.dtype, Role] = {}
    for position, x in enumerate(example.args):
        first_operands.setdefault(x.dtype, position)
    named = {k: v for k, v in example.dtype_params().items() if k in _FREE}
    return [*((role, dtype) for dtype, role in first_operands.items()), *named.items()]


def _has_jaxprs(example: Example) -> bool:
    return next(jaxprs_in_params(example.params), None) is not None


def _inexact(dtype: np.dtype) -> bool:
    return issubdtype(dtype, np.inexact)


def _kind(dtype: np.dtype) -> tuple[bool, bool]:
    return _inexact(dtype), issubdtype(dtype, np.complexfloating)


def _has_complex_form(primitive: Primitive, example: Example) -> bool:
    """Whether an example of real numbers is meaningful in complex dtypes.

    NumPy and XLA differ for complex infinities and NaN. Vectors that are unique up to a
    phase are unique up to a sign in real dtypes, where the backends choose the same one.
    """
    finite = all(np.isfinite(x).all() for x in example.args if _inexact(x.dtype))
    return finite and "phase" not in exempt(primitive)


def accepts(primitive: Primitive, example: Example) -> bool:
    """Whether abstract evaluation accepts an example instead of raising one of ``REFUSALS``."""
    try:
        with example.precision():
            example.result_avals(primitive)
    except REFUSALS:
        return False
    return True


def in_dtype(
    primitive: Primitive, example: Example, role: Role, dtype: npt.DTypeLike
) -> Example | None:
    """An example with another dtype in a role, or ``None`` if the primitive does not accept it."""
    old = dict(roles(example))[role]
    family = _FAMILY_OF[np.dtype(dtype)]
    if family in REFUSED_FAMILIES and family in exempt(primitive):
        return None
    if family == "complex" and not _kind(old)[1] and not _has_complex_form(primitive, example):
        return None
    if isinstance(role, str):
        # Rounding to integers has no derivative, and dropping an imaginary part is not linear.
        smooth = example.smooth and _kind(np.dtype(dtype)) == _kind(old)
        params = {**example.params, role: np.dtype(dtype)}
        changed = replace(example, params=params, smooth=smooth)
        return changed if accepts(primitive, changed) else None
    try:
        with replace(example, args=(*example.args, np.zeros((), dtype))).precision():
            changed = example.in_dtype(old, dtype)
    except REFUSALS:
        # A jaxpr among the parameters cannot be traced for this dtype.
        return None
    if (role, np.dtype(dtype)) not in roles(changed):
        # The operand is a constant of a jaxpr, or now shares its dtype with another operand.
        return None
    if family == "complex" and "complex derivatives" in exempt(primitive):
        changed = replace(changed, smooth=False)
    preferred = changed.params.get("preferred_element_type")
    if preferred is not None and _kind(preferred) != _kind(np.dtype(dtype)):
        changed = replace(changed, smooth=False)
    if _inexact(np.dtype(dtype)) and not _inexact(old):
        # Functions have kinks at integers, and operands are equal, so derivatives may not exist.
        changed = replace(changed, smooth=False)
    return changed if accepts(primitive, changed) else None


def families(example: Example) -> Iterator[tuple[Role, str]]:
    """The dtype families that an example covers, by role."""
    for role, dtype in roles(example):
        if dtype in _FAMILY_OF:
            yield role, _FAMILY_OF[dtype]


def accepted_families(
    primitive: Primitive, base_examples: Sequence[Example]
) -> dict[tuple[Role, str], list[tuple[Example, np.dtype]]]:
    """For each role and dtype family, the examples that are accepted in it, with their dtypes."""
    table: dict[tuple[Role, str], list[tuple[Example, np.dtype]]] = {}
    for example in base_examples:
        for role, current_dtype in roles(example):
            for family, dtypes in FAMILIES.items():
                for dtype in dtypes:
                    if (
                        dtype == current_dtype
                        or in_dtype(primitive, example, role, dtype) is not None
                    ):
                        table.setdefault((role, family), []).append((example, dtype))
    return table


def dtype_variants(
    primitive: Primitive, base_examples: Sequence[Example], *, full: bool = False
) -> list[Example]:
    """Examples in further dtypes that a primitive accepts.

    Args:
      base_examples: its examples.
      full: whether to return every example in every dtype; by default one variant, chosen by a
        fixed seed, for each family that no example covers.
    """
    choice = random.Random(primitive.name)
    covered = {key for example in base_examples for key in families(example)}
    additions = []
    for key, candidates in accepted_families(primitive, base_examples).items():
        if full:
            chosen = candidates
        elif key in covered:
            continue
        else:
            alike = [c for c in candidates if _inexact(dict(roles(c[0]))[key[0]]) == _inexact(c[1])]
            smooth = [c for c in alike or candidates if c[0].smooth]
            chosen = [choice.choice(smooth or alike or candidates)]
        for example, dtype in chosen:
            variant = in_dtype(primitive, example, key[0], dtype)
            if variant is not None and dict(roles(example))[key[0]] != dtype:
                additions.append(variant)
    return additions


def _empty_versions(example: Example) -> Iterator[Example]:
    """Variants without elements: one size set to 0 everywhere it occurs, or in one operand."""
    sizes = sorted({n for x in example.args for n in x.shape}, reverse=True)
    for size in sizes:
        cut = lambda x, size=size: x[tuple(slice(0 if n == size else n) for n in x.shape)]
        try:
            yield example.converted(cut)
        except REFUSALS:
            continue
    if _has_jaxprs(example):
        return
    for position, x in enumerate(example.args):
        for axis in range(x.ndim):
            args = list(example.args)
            args[position] = x[(slice(None),) * axis + (slice(0),)]
            yield replace(example, args=tuple(args))


def empty_variants(
    primitive: Primitive, base_examples: Sequence[Example], *, full: bool = False
) -> list[Example]:
    """Variants with empty arrays: all with ``full``, else one if no example has empty arrays."""
    if "empty" in exempt(primitive) or (not full and any(map(is_empty, base_examples))):
        return []
    fixed = "empty derivatives" in exempt(primitive)
    indexes = primitive.name == "gather" or primitive.name.startswith("scatter")
    accepted = (
        # A gather or scatter on an empty operand has no windows, so it is accepted. The windows
        # of its derivatives would not fit the operand; JAX refuses these as well.
        replace(
            variant, smooth=variant.smooth and not (fixed or indexes and not variant.args[0].size)
        )
        for example in base_examples
        if not is_empty(example)
        for variant in _empty_versions(example)
        if is_empty(variant) and accepts(primitive, variant)
    )
    return list(accepted) if full else list(accepted)[:1]


def scalar_variants(
    primitive: Primitive, base_examples: Sequence[Example], *, full: bool = False
) -> list[Example]:
    """Variants with scalars: all with ``full``, else one if no example has scalars."""
    if "scalars" in exempt(primitive) or (not full and any(map(is_scalar, base_examples))):
        return []
    additions = []
    for example in base_examples:
        if is_scalar(example) or is_empty(example) or not example.args:
            continue
        try:
            variant = example.converted(lambda x: x.reshape(-1)[:1].reshape(()))
        except REFUSALS:
            continue
        if accepts(primitive, variant):
            additions.append(variant)
    return additions if full else additions[:1]


def wide_variants(
    primitive: Primitive, base_examples: Sequence[Example], *, full: bool = False
) -> list[Example]:
    """Examples without 64-bit dtypes under ``enable_x64``: all with ``full``, else one of them.

    Arrays that a rule creates, such as positions and counters, must not take the default dtypes.
    """
    additions = []
    narrow = [example for example in base_examples if not example.wide and not is_empty(example)]
    random.Random(primitive.name).shuffle(narrow)
    for example in narrow:
        try:
            variant = example.with_wide_types()
        except (*REFUSALS, KeyError):  # its jaxprs can be traced for 32-bit types only
            continue
        if accepts(primitive, variant):
            additions.append(variant)
            if not full:
                break
    return additions


def is_empty(example: Example) -> bool:
    """Whether an operand has no elements."""
    return any(x.size == 0 for x in example.args)


def is_scalar(example: Example) -> bool:
    """Whether the first operand is zero-dimensional, apart from named axes."""
    return bool(example.args) and example.args[0].ndim == len(example.axes)


def variants(
    primitive: Primitive, examples: Sequence[Example], *, full: bool = False
) -> list[Example]:
    """The variants that a primitive's examples lack: other dtypes, shapes, the other width.

    Args:
      primitive: the primitive.
      examples: its examples.
      full: whether to return all variants; by default one for each gap.

    Returns:
      The variants, a list.

    Example:
      >>> import numpy as np
      >>> from ricci_ir import primitives
      >>> from ricci_testing import Example, variants
      >>> additions = variants(primitives["ceil"], [Example((np.float32([0.5]),))])
      >>> print(*additions[:5])
      (float16[1]) (bfloat16[1]) (float64[1]) (float32[0]) (float32[])
      >>> print(*additions[5:])
      (float32[1]) where 64-bit dtypes are enabled
    """
    return [
        *dtype_variants(primitive, examples, full=full),
        *empty_variants(primitive, examples, full=full),
        *scalar_variants(primitive, examples, full=full),
        *wide_variants(primitive, examples, full=full),
    ]

"""References that a traced number selects among several."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_kernels.primitives._accesses import Reference

__all__ = ["select_ref"]

type IntegerScalar = ir.Array | np.ndarray | np.integer | int


@dataclass(frozen=True)
class SelectedRef:
    """One of several references of one type, which a traced number selects.

    Attributes:
      index: the number.
      refs: the references, or views of them.
    """

    index: IntegerScalar
    refs: tuple[Any, ...]

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape of each."""
        return self.refs[0].shape

    @property
    def dtype(self) -> np.dtype:
        """The dtype of each."""
        return self.refs[0].dtype

    @property
    def at(self) -> "_Parts":
        """The part of the selected reference at an index: ``ref.at[index]``."""
        return _Parts(self)

    def __getitem__(self, index: object) -> ir.Array:
        """The value of a part of the selected reference."""
        return with_selected([self], lambda ref: ref[index])

    def __setitem__(self, index: object, value: ir.ArrayLike) -> None:
        """Write to a part of the selected reference."""

        def write(ref: Reference) -> None:
            ref[index] = value

        with_selected([self], write)


# The source or the target of a copy within a device.
type CopyOperand = Reference | SelectedRef


@dataclass(frozen=True)
class _Parts:
    ref: SelectedRef

    def __getitem__(self, index: object) -> SelectedRef:
        return SelectedRef(self.ref.index, tuple([ref.at[index] for ref in self.ref.refs]))


def with_selected[T](references: Sequence[Any], run: Callable[..., T]) -> T:
    """Run a function with references, in a branch for each that a ``SelectedRef`` may be.

    Args:
      references: references, views, or ``SelectedRef``.
      run: the function of as many references or views.
    """
    for i, ref in enumerate(references):
        if isinstance(ref, SelectedRef):
            before, after = references[:i], references[i + 1 :]
            branches = [
                partial(with_selected, [*before, choice, *after], run) for choice in ref.refs
            ]
            return lax.switch(ref.index, branches)
    return run(*references)


def is_selected(references: Sequence[Any]) -> bool:
    """Whether one of some references is a ``SelectedRef``."""
    return any(isinstance(ref, SelectedRef) for ref in references)


def select_ref(idx: IntegerScalar, *refs: Reference) -> SelectedRef:
    """Select one of several references by a traced number, in a kernel.

    It is read and written as a reference, has views ``ref.at[index]``, and is the source or the
    target of copies. Each access is a branch for each of the references.

    Args:
      idx: the number of the reference, an integer scalar; one out of bounds is clamped.
      refs: two references or more, or views of them, of one shape and dtype.

    Returns:
      The selected reference.

    Raises:
      ValueError: if there are fewer than two references, or their types differ.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def kernel(which, x, y, out):
      ...     pltpu.sync_copy(pl.select_ref(which[0], x, y), out)
      >>> anywhere = pl.BlockSpec(memory_space=pl.ANY)
      >>> select = pl.pallas_call(
      ...     kernel,
      ...     ricci.ShapeDtypeStruct((2,), np.float32),
      ...     in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), anywhere, anywhere],
      ...     out_specs=anywhere,
      ...     interpret=True,
      ... )
      >>> select(np.int32([1]), np.float32([1, 2]), np.float32([3, 4]))
      Array([3., 4.], dtype=float32)
    """
    if len(refs) < 2:
        raise ValueError("At least two refs are required for pl.select_ref.")
    types = [(tuple(ref.shape), ref.dtype) for ref in refs]
    if any(kind != types[0] for kind in types):
        texts = ", ".join([f"{dtype}{list(shape)}" for shape, dtype in types])
        raise ValueError(
            f"select_ref: references of {texts}. All have one shape and one dtype: select among "
            "views of them, ref.at[index], that do."
        )
    return SelectedRef(idx, refs)

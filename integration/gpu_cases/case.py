"""Programs for GPUs: what each computes, and how close its results must be."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Program:
    """A function with its arguments.

    Attributes:
      function: the function, which is compiled.
      arguments: NumPy arrays.
      reference: NumPy's or SciPy's function of the same values, if there is one.
      tolerance: the largest difference of results, relative to the largest value or 1.
      exact: whether all bits must be the same.
    """

    function: Callable[..., Any]
    arguments: tuple[np.ndarray, ...]
    reference: Callable[..., Any] | None = None
    tolerance: float = 2e-5
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Programs by name, and the arrays that many of them take."""

    programs: dict[str, Program] = field(default_factory=dict)

    def add(
        self,
        name: str,
        function: Callable[..., Any],
        *arguments: np.ndarray,
        reference: Callable[..., Any] | None = None,
        tolerance: float = 2e-5,
        exact: bool = False,
    ) -> None:
        """Add a program to the table."""
        assert name not in self.programs, name
        self.programs[name] = Program(function, arguments, reference, tolerance, exact)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Return values of a normal distribution, as float32."""
    return np.random.RandomState(seed + sum(shape)).randn(*shape).astype(np.float32)


VECTOR = np.random.RandomState(0).rand(200).astype(np.float32) + np.float32(0.1)
TALL, SHORT = normal(16, 12), normal(12, 8)
SQUARE, BATCH = normal(10, 10), normal(4, 10, 10)
SYMMETRIC = (SQUARE @ SQUARE.T + 10 * np.eye(10)).astype(np.float32)
COMPLEX = (normal(10, 10, seed=1) + 1j * normal(10, 10, seed=2)).astype(np.complex64)
INTEGERS = np.random.RandomState(0).randint(0, 50, (8, 30)).astype(np.int32)
IMAGES, KERNEL = normal(2, 16, 16, 4), normal(3, 3, 4, 8)
INDICES = np.array([3, 1, 3, 99, -1], np.int32)

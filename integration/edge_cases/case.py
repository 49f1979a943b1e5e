"""A function on a grid of edge values: its text, its operands, and how two answers compare.

All edges of all operands are one array each, so that a case is one program: the value, and the
derivative by each operand that has one, computed by ``vjp`` with ones as cotangents.
"""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np
import scipy.special
import scipy.stats

from ricci_testing import Request, Result, evaluate_with, ricci_namespace, shared_oracle

DTYPES = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
INFINITE = (np.inf, -np.inf, np.nan)
LARGEST, SMALLEST, EPSILON = "max", "tiny", "eps"
EDGES: dict[str, tuple[float | str, ...]] = {
    "one": (0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -1.5, 10, -10, 100, -100, 1e4, -1e4,
            LARGEST, "-max", SMALLEST, "-tiny", EPSILON, "1+eps", "1-eps", *INFINITE),
    "two": (0.0, -0.0, 1, -1, 0.5, -1.5, 2, 10, -10, 100, LARGEST, SMALLEST, *INFINITE),
    "three": (0.0, 1, -1, 0.5, 2, 20, *INFINITE),
    "four": (0.0, 1, -1, 0.5, 3, np.inf, np.nan),
}  # fmt: skip
COUNTS = (-2, -1, 0, 1, 2, 5, 30)
RTOL = {"f32": 2e-3, "f64": 1e-6, "bf16": 6e-2, "f16": 2e-2}


def edge(value: float | str, dtype: type) -> float:
    """The number of an entry of ``EDGES``."""
    if not isinstance(value, str):
        return float(value)
    info = ml_dtypes.finfo(dtype)
    limits = {"max": info.max, "tiny": info.tiny, "eps": info.eps}
    names = {key: float(limit) for key, limit in limits.items()}
    return {
        **names,
        **{f"-{key}": -limit for key, limit in names.items()},
        "1+eps": 1 + names["eps"],
        "1-eps": 1 - names["eps"] / 2,
    }[value]


@dataclass(frozen=True)
class Case:
    """A call as text; ``floats`` and ``counts`` name its operands of floats and of integers."""

    function: str
    source: str
    floats: tuple[str, ...]
    counts: tuple[str, ...]
    dtype: str
    differentiated: bool = True

    def __str__(self) -> str:
        return f"{self.source} in {self.dtype}"

    @cached_property
    def inputs(self) -> dict[str, np.ndarray]:
        """Each operand: together they take every combination of their edges."""
        scalar = DTYPES[self.dtype]
        size = ("one", "two", "three", "four")[len(self.floats) + len(self.counts) - 1]
        axes = [[edge(v, scalar) for v in EDGES[size]] for _ in self.floats]
        rows = list(itertools.product(*axes, *(COUNTS for _ in self.counts)))
        columns = dict(zip((*self.floats, *self.counts), zip(*rows, strict=True), strict=True))
        arguments = {name: np.array(columns[name]).astype(scalar) for name in self.floats}
        return arguments | {name: np.array(columns[name], np.int32) for name in self.counts}

    @property
    def request(self) -> Request:
        """The request to both sides: the value, and a derivative for each operand of floats."""
        names, floats = ", ".join(self.inputs), ", ".join(self.floats)
        value = f"({self.source})"
        entries = f"'value': {value}"
        if self.differentiated:
            pulled = f"jax.vjp(lambda {floats}: {self.source}, {floats})"
            pull = f"(lambda o, pull: pull(jax.tree.map(jnp.ones_like, o)))(*{pulled})"
            entries += f", 'slopes': {pull}"
        text = f"jax.jit(lambda {names}: {{{entries}}})({names})"
        return Request(text, self.inputs, {"jax_enable_x64": self.dtype == "f64"})


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A difference between a result and JAX's: the quantity, and the operands."""

    case: Case
    part: str
    at: dict[str, float]
    ours: str
    theirs: str

    def __str__(self) -> str:
        at = ", ".join(f"{name}={value:g}" for name, value in self.at.items())
        return f"{self.case}, {self.part} at {at}: {self.ours}, JAX {self.theirs}"


def disagreements(cases: Iterable[Case]) -> list[Disagreement]:
    """Evaluate the cases on both sides, and return each point where they differ.

    A value may be SciPy's instead, where JAX's is another. Derivatives are compared where the value
    and JAX's derivative are finite: elsewhere JAX's are what its formulas happen to give.
    """
    cases = list(cases)
    requests = [case.request for case in cases]
    theirs = shared_oracle().run_many(requests, timeout=1200.0)
    differences = []
    for case, request, their in zip(cases, requests, theirs, strict=True):
        our = evaluate_with(
            ricci_namespace(), request.source, request.inputs, config=request.config
        )
        differences += _compared(case, our, their)
    return differences


def _compared(case: Case, ours: Result, theirs: Result) -> list[Disagreement]:
    if ours.error or theirs.error:
        names = [r.error.name if r.error else "a value" for r in (ours, theirs)]
        return [] if names[0] == names[1] else [Disagreement(case, "outcome", {}, *names)]
    differences = []
    for our, their in zip(ours.leaves, theirs.leaves, strict=True):
        if (our.dtype, our.shape) != (their.dtype, their.shape):
            types = [f"{leaf.dtype}{leaf.shape}" for leaf in (our, their)]
            differences.append(Disagreement(case, our.path, {}, *types))
            continue
        unlike = _unlike(case, np.asarray(our.value), np.asarray(their.value))
        if our.path.startswith("['value']"):
            places = np.flatnonzero(unlike)
            unlike[places] = ~_like_scipy(case, our.path, np.asarray(our.value), places)
        else:
            unlike &= np.isfinite(np.asarray(their.value).astype(np.float64)) & _ordinary(
                case, ours
            )
        for place in np.flatnonzero(unlike):
            at = {name: float(value[place]) for name, value in case.inputs.items()}
            pair = (str(np.asarray(leaf.value).flat[place]) for leaf in (our, their))
            differences.append(Disagreement(case, our.path, at, *pair))
    return differences


def _unlike(case: Case, ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Flag the elements that differ: in being NaN or infinite, or by more than the tolerance.

    Zeros of both signs are alike, and so is all that is smaller than the smallest normal number.
    """
    if ours.dtype.kind in "iub" and ours.dtype.name in ("bool", "int32", "int64"):
        return ours != theirs
    tiny = 8 * float(ml_dtypes.finfo(DTYPES[case.dtype]).tiny)
    wide = np.complex128 if np.iscomplexobj(ours) else np.float64
    a, b = ours.astype(wide), theirs.astype(wide)
    with np.errstate(all="ignore"):
        close = np.abs(a - b) <= tiny + RTOL[case.dtype] * np.abs(b)
        return ~((a == b) | close | (np.isnan(a) & np.isnan(b)))


def _ordinary(case: Case, ours: Result) -> np.ndarray:
    """Flag the elements whose value is finite and whose operands are inside the range."""
    values = [np.asarray(leaf.value) for leaf in ours.leaves if leaf.path.startswith("['value']")]
    limits = ml_dtypes.finfo(DTYPES[case.dtype])
    mask = np.ones(values[0].shape, bool)
    for value in values:
        mask &= np.isfinite(value.astype(np.complex128))
    for operand in map(np.abs, case.inputs.values()):
        mask &= (operand < limits.max) & ((operand == 0) | (operand > limits.tiny))
    return mask


def _like_scipy(case: Case, path: str, ours: np.ndarray, places: np.ndarray) -> np.ndarray:
    """At which of these places the value is the one that SciPy computes in double precision."""
    function = _scipy_function(case.function)
    if function is None or ours.dtype.kind == "c":
        return np.zeros(len(places), bool)
    differences = []
    for place in places:
        operands = {name: value[place] for name, value in case.inputs.items()}
        arguments = [int(v) if v.dtype.kind == "i" else float(v) for v in operands.values()]
        if "(n, x)" in case.source:
            arguments.reverse()
        with np.errstate(all="ignore"):
            expected = function(*arguments)
            if isinstance(expected, tuple):
                expected = expected[int(path[-2])]
            near = np.asarray(expected).astype(ours.dtype).reshape(1)
        differences.append(not _unlike(case, ours[place : place + 1], near)[0])
    return np.array(differences, bool)


def _scipy_function(name: str) -> Callable[..., Any] | None:
    function: Any = {"lax": scipy.special, "jax": scipy}.get(name.split(".")[0])
    for part in name.split(".")[1 if name.startswith("lax") else 2 :]:
        function = getattr(
            function, {"igamma": "gammainc", "igammac": "gammaincc"}.get(part, part), None
        )
    return function

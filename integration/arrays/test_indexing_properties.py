"""Random indices, got and set, give what NumPy gives in bounds, and what JAX gives everywhere.

A run takes a sample with a fixed seed; RICCI_INDEX_CASES=10000, as `nox -s indexing-full` sets it,
takes so many. The first half is evaluated with NumPy by the reference backend, the other by XLA.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import batched
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

pytest.importorskip("ricci_xla", reason="values need the compiler")
from index_cases import Answer, Case, broken_cases, cases, eagerly, numpy_result, request, together

from ricci_ir import use_backend
from ricci_reference import reference_backend
from ricci_testing import Oracle, Result, compare, evaluate_with, ricci_namespace, shared_oracle

COUNT = int(os.environ.get("RICCI_INDEX_CASES", "100"))
BATCH = 20
_needs_oracle = pytest.mark.skipif(
    not Oracle.available(), reason="oracle environment missing: run nox -s oracle"
)


def sample(kind: Any, count: int) -> list[Case]:
    """So many different cases of a kind, always the same ones."""
    found: dict[str, Case] = {}

    @seed(5)
    @settings(
        max_examples=2 * count,
        phases=(Phase.generate,),
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=kind)
    def collect(case: Case) -> None:
        if len(found) < count:
            found[repr(case)] = case

    collect()
    assert len(found) == count
    return list(found.values())


def answers(cases: Sequence[Case]) -> Iterator[tuple[Case, Answer, Answer]]:
    """Each case with what both sides make of it."""
    for batch in batched(cases, BATCH):
        question = request(batch)
        theirs = together(batch, shared_oracle().run_many([question], timeout=600.0)[0])
        ours = together(batch, evaluate_with(ricci_namespace(), question.source, question.inputs))
        yield from zip(batch, ours, theirs, strict=True)


def report(wrong: list[str]) -> None:
    assert not wrong, f"{len(wrong)} differ\n\n" + "\n\n".join(wrong)


def differs(found: Result, expected: Result) -> str:
    try:
        compare(found, expected, rtol=1e-5)
    except AssertionError as error:
        return str(error)
    return ""


def differs_from_numpy(case: Case, result: Result) -> str:
    expected = numpy_result(case)
    if expected is None:
        return ""
    if result.error is not None:
        return f"{result.error.name}: {result.error.message}"
    found = np.asarray(result.value)
    if found.shape != expected.shape:
        return f"shape {found.shape}, not {expected.shape}"
    wide = "complex128" if expected.dtype.kind == "c" else "float64"
    close = np.allclose(
        found.astype(wide), expected.astype(wide), rtol=2e-2, atol=1e-3, equal_nan=True
    )
    return "" if close else f"{found.tolist()}, not {expected.tolist()}"


def differs_from_oracle(case: Case, ours: Answer, theirs: Answer) -> str:
    for what in ("error", "gradient_error"):
        if getattr(ours, what) != getattr(theirs, what):
            return f"{what}: {getattr(ours, what)!r}, not {getattr(theirs, what)!r}"
    leaves = [answer.leaves for answer in (ours, theirs)]
    if case.method in ("min", "max") and case.options.get("mode") == "clip":
        # JAX leaves the mode out of the derivative: a position that is moved into bounds has none.
        leaves = [found[:1] for found in leaves]
    return differs(*(Result(found, None) for found in leaves))


def test_numpy_agrees_in_bounds_without_a_compiler():
    namespace = ricci_namespace()
    wrong = []
    with use_backend(reference_backend):
        for case in sample(cases(in_bounds=True), COUNT // 2):
            text = differs_from_numpy(case, eagerly(case, namespace))
            if text:
                wrong.append(f"{case!r}\n{text}")
    report(wrong)


@_needs_oracle
def test_jax_agrees_in_bounds_and_outside():
    namespace = ricci_namespace()
    wrong = []
    for case, ours, theirs in answers(sample(cases(), COUNT // 2)):
        text = differs_from_oracle(case, ours, theirs)
        if not text and not ours.error:
            eager = eagerly(case, namespace)
            text = differs(eager, Result((theirs.value,), None))
            if not text and case.in_bounds:
                text = differs_from_numpy(case, eager)
        if text:
            wrong.append(f"{case!r}\n{text}")
    report(wrong)


@_needs_oracle
def test_invalid_indices_raise_the_errors_of_jax():
    wrong = [
        f"{case!r}\n{ours.error or 'a value'}, not {theirs.error or 'a value'}"
        for case, ours, theirs in answers(sample(broken_cases(), COUNT // 4))
        if ours.error != theirs.error
    ]
    report(wrong)

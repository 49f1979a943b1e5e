"""Functions of arrays with symbolic dimensions: traced, lowered, and run for known sizes.

A run lowers every call of `symbolic_cases` and runs a few; with RICCI_SYMBOLIC_CASES=all, as
`nox -s symbolic-full` sets it, every call runs at several sizes, and JAX is asked anew.
"""

import os
import random

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")


from symbolic_cases import Case, cases, difference, jax_errors, lowering_error, recorded_errors

from ricci_testing import Oracle

EVERYTHING = os.environ.get("RICCI_SYMBOLIC_CASES") == "all"
RECORDED = recorded_errors()
LOWERED = [case for case in cases() if not RECORDED.get(str(case), ("", ""))[1]]
SAMPLE = LOWERED if EVERYTHING else random.Random("symbolic").sample(LOWERED, 14)
# Calls that have a value for an axis without elements.
EMPTY = [
    "jnp.sin(x)",
    "jnp.sum(x, 0)",
    "jnp.concatenate([x, x])",
    "jnp.sort(x, 0)",
    "jnp.cumsum(x, 0)",
    "x * x.shape[0]",
    "x.reshape(-1)",
    "x[::-1]",
    "x[:2]",
    "x @ x.T",
    "lax.scan(lambda s, a: (s + a, s * a), jnp.zeros(3), x)",
    "jnp.where(x > 0, x, 0)",
    "jax.random.uniform(jax.random.key(0), x.shape)",
]
# A dimension whose size is a variable is not removed, though the size may turn out to be 1.
SQUEEZED = ("jnp.squeeze(x0)", "jnp.cov(x0)", "jnp.corrcoef(x0)")


def test_lowering_errors_are_those_recorded():
    """Every call that JAX exports is lowered here; others are listed in `errors.tsv`."""
    found = {str(case): error for case in cases() if (error := lowering_error(case))}
    expected = {call: here for call, (_, here) in RECORDED.items() if here}
    assert found == expected
    assert [call for call, (there, here) in RECORDED.items() if here and not there] == []


@pytest.mark.parametrize("case", SAMPLE, ids=str)
def test_symbolic_programs_equal_those_of_known_shapes(case):
    one = () if case.source in SQUEEZED else (1,)
    sizes = (*one, case.size, case.size + 1) if EVERYTHING else (case.size + 1,)
    assert [found for size in sizes if (found := difference(case, size))] == []


@pytest.mark.sampled(8)
@pytest.mark.parametrize("source", EMPTY)
def test_axes_may_be_empty(source):
    case = Case("empty", "", source, {"x": np.ones((4, 3), np.float32)})
    assert difference(case, 0) == ""
    assert difference(case, 2) == ""


@pytest.mark.skipif(not EVERYTHING, reason="the record of JAX's answers is compared instead")
@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
def test_recorded_exports_of_jax_are_current():
    found = dict(zip(map(str, cases()), jax_errors(cases()), strict=True))
    assert {c: e for c, e in found.items() if e} == {c: t for c, (t, _) in RECORDED.items() if t}

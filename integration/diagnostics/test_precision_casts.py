"""Casts that ``precision`` suggests, in the text of the programs, beside runs in float64."""

import inspect

import numpy as np
import pytest

pytest.importorskip("ricci", reason="the light tests run where it is not installed")

from precision_programs import PROGRAMS
from precision_programs.casts import with_casts

import ricci
import ricci.numpy as jnp
from ricci import tree


def computes_in_one_dtype(program):
    """Whether a program has arguments of one inexact dtype, and no casts."""
    dtypes = {np.asarray(x).dtype for x in program.args}
    text = inspect.getsource(program.source)
    casts = ("astype", "float16", "float32", "dtype=", "one_hot")
    body = text[text.index("\ndef ") :] if text.startswith("@") else text
    return len(dtypes) == 1 and not any(name in body for name in casts)


PLAIN = [p for p in PROGRAMS if p.name.endswith(" plain") and computes_in_one_dtype(p)]
# The results alone, rounded to their dtype, have an error above the bound.
UNREACHABLE = frozenset({"survival plain"})


def relative_error(results, exact):
    """The largest error of a result, by norms."""
    errors = []
    for x, y in zip(map(np.asarray, tree.leaves(results)), tree.leaves(exact), strict=True):
        x, y = x.astype(np.float64), np.asarray(y)
        errors.append(np.linalg.norm(x - y) / np.linalg.norm(y) if np.isfinite(x).all() else np.inf)
    return max(errors)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("program", PLAIN, ids=lambda p: p.name)
def test_suggested_casts_in_the_text_bring_the_error_under_the_bound(program):
    args = list(map(jnp.asarray, program.args))
    report = ricci.precision(program.call, suggest=True)(*args)
    casts = report.suggestion
    assert casts.reached == (program.name not in UNREACHABLE)
    dtype, wider = report.lines[0].dtype, report.lines[0].wider
    results = program.call(*args)
    with ricci.enable_x64(True):
        exact = program.source(*(jnp.asarray(x, jnp.float64) for x in args))
        lines = [row.line for row in casts.lines]
        mended = with_casts(program.source, lines, np.dtype(dtype), np.dtype(wider))(*args)
        mended = tree.map(lambda x, y: x.astype(y.dtype), mended, results)
    error = relative_error(mended, exact)
    assert error <= casts.bound or not casts.reached
    np.testing.assert_allclose(error, casts.error, rtol=5e-3, atol=1e-3 * casts.bound)

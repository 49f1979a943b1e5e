"""Every function of the NumPy API gives what JAX's gives, compiled and on the reference backend.

Values, dtypes, weak types, shapes and classes of errors are compared with JAX's, and values with
NumPy's. A run takes a few calls of each function; with RICCI_NUMPY_CASES=all, as
`nox -s numpy-full` sets it, it takes every one.
"""

import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytest.importorskip("ricci_xla", reason="values need the compiler")
from lax_cases.case import with_wide_types  # noqa: E402
from numpy_cases import by_function  # noqa: E402
from numpy_cases.agreement import SERVER, differences  # noqa: E402
from numpy_cases.case import DERIVATIVES, Call, parse, with_weak_types  # noqa: E402
from numpy_cases.differences import EXPECTED, NUMPY  # noqa: E402
from surface import read_names  # noqa: E402

from ricci_testing import Oracle  # noqa: E402

EVERYTHING = os.environ.get("RICCI_NUMPY_CASES") == "all"
TOGETHER = 8 if EVERYTHING else 20  # functions in one test: one compilation for all costs less
FUNCTIONS = by_function()
NAMES = list(FUNCTIONS)
PARTS = {NAMES[i]: NAMES[i : i + TOGETHER] for i in range(0, len(NAMES), TOGETHER)}


def chosen(calls: list[Call]) -> list[Call]:
    """The calls of a function that are tried: all, with 64-bit types off and on.

    Or the first and a bad one. For a third of the functions the first is compiled with a derivative
    or mapped. For another third a second one is made as it stands or compiled, and the types alone
    of the first are compared, as for the last third those of one where 64-bit types are on.
    """
    bad = [call for call in calls if call.bad]
    good = [call for call in calls if not call.bad]
    wide = with_wide_types(good)
    if EVERYTHING:
        return calls + wide
    draw = random.Random(calls[0].function)
    third = draw.randrange(3)
    others = good[1:] if third == 0 else []
    found = draw.sample(others, min(1, len(others))) + draw.sample(bad, min(1, len(bad)))
    if good:
        derived = [probe for probe in good[0].probes if probe in DERIVATIVES]
        probes = ["value", *draw.sample(derived, min(third // 2, len(derived)))]
        if "value" not in good[0].probes:
            probes = ["eager"]
        first = replace(good[0], probes=tuple(probes))
        found.insert(0, replace(first, programs_only=True) if others else first)
    typed = draw.sample(wide, min(1, len(wide))) if third == 1 else []
    return [*found, *(replace(call, programs_only=True) for call in typed)]


@pytest.mark.sampled(5)
@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
@pytest.mark.parametrize("names", PARTS.values(), ids=PARTS)
def test_agrees_with_jax_and_numpy(names):
    found = differences(call for name in names for call in chosen(FUNCTIONS[name]))
    wrong = [str(difference) for difference in found if difference.reason is None]
    assert not wrong, f"{len(wrong)} differences\n\n" + "\n\n".join(wrong)


@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
@pytest.mark.parametrize("x64", [False, True])
def test_weak_operands_give_the_types_that_jax_gives(x64):
    """One call of every fourth function, or all of all."""
    functions = [*FUNCTIONS.values()]
    if EVERYTHING:
        weak = [with_weak_types(calls, x64) for calls in functions]
    else:
        weak = [with_weak_types(calls, x64)[:1] for calls in functions[x64::4]]
    found = differences(call for calls in weak for call in calls)
    wrong = [str(difference) for difference in found if difference.reason is None]
    assert not wrong, f"{len(wrong)} differences\n\n" + "\n\n".join(wrong)


def test_every_public_function_has_calls():
    prefixes = {"jax.numpy": "", "jax.numpy.linalg": "linalg.", "jax.numpy.fft": "fft."}
    public = {
        prefixes[name.namespace] + name.name
        for name in read_names(ROOT / "tools" / "data" / "surface.tsv")
        if name.namespace in prefixes and name.kind in ("function", "ufunc")
    }
    assert public == set(FUNCTIONS)


def test_every_function_has_bad_calls():
    without = [name for name, calls in FUNCTIONS.items() if not any(c.bad for c in calls)]
    assert without == ["printoptions"]  # it looks at its arguments when it is entered


@pytest.mark.parametrize("row", [*EXPECTED, *NUMPY], ids=lambda row: row.functions)
def test_an_expected_difference_has_a_reason_and_a_text(row):
    assert row.reason and row.functions and row.mentions not in ("", "*")


def test_operands_stand_in_the_text():
    source, inputs = parse("f(@[2,3], i32[4 in 0 9], MASK)", "bf16")
    assert source == "f(x0, x1, MASK)"
    assert {k: f"{v.dtype}{v.shape}" for k, v in inputs.items()} == {
        "x0": "bfloat16(2, 3)",
        "x1": "int32(4,)",
        "MASK": "bool(2, 3)",
    }


def test_a_row_asks_for_derivatives_once():
    asked = [c for c in FUNCTIONS["sin"] if set(DERIVATIVES) & set(c.probes)]
    assert len(asked) == 1


def test_the_reference_backend_answers_without_jaxlib():
    program = f"import runpy, sys; runpy.run_path({str(SERVER)!r}); print(sys.modules['jaxlib'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("None", "")

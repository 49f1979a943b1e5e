"""Every public function of lax gives what JAX's gives: values, types, weak types, programs.

A run takes some cases of each function; with RICCI_ORACLE_CASES=all, as `nox -s oracle-full` sets
it, it takes every one.
"""

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytest.importorskip("ricci_xla", reason="values need the compiler")
from lax_cases import TOPICS, by_function, exists  # noqa: E402
from lax_cases.agreement import evaluate  # noqa: E402
from lax_cases.case import Case, with_wide_types  # noqa: E402
from lax_cases.differences import EXPECTED  # noqa: E402
from surface import read_names  # noqa: E402

from ricci_testing import Oracle, ricci_namespace, shared_oracle  # noqa: E402

EVERYTHING = os.environ.get("RICCI_ORACLE_CASES") == "all"
FUNCTIONS = by_function()
# These need named axes or several devices, and are tested with the package that holds them.
COLLECTIVES = frozenset(
    "all_gather all_to_all axis_index axis_size pbroadcast pcast pmax pmean pmin ppermute precv "
    "psend pshuffle psum psum_scatter psum_scatter_start pswapaxes ragged_all_to_all "
    "with_sharding_constraint".split()
)
_needs_oracle = pytest.mark.skipif(
    not Oracle.available(), reason="oracle environment missing: run nox -s oracle"
)


def chosen(cases: list[Case]) -> list[Case]:
    """The cases of a function that are tried: all, with 64-bit types off and on.

    Or the first, and the program of another one or of one where 64-bit types are on: compiling is
    what takes time.
    """
    wide = with_wide_types(cases)
    if EVERYTHING:
        return cases + wide
    draw = random.Random(cases[0].function)
    others = cases[1:] if draw.random() < 0.5 else wide
    others = draw.sample(others, min(1, len(others)))
    return [cases[0], *(replace(case, programs_only=True) for case in others)]


@_needs_oracle
@pytest.mark.sampled(11)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_agrees_with_jax(function):
    if not exists(function):
        pytest.skip(f"ricci_lax has no {function} yet; tools/surface.py lists it")
    cases = chosen(FUNCTIONS[function])
    outcomes = evaluate(cases, ricci_namespace(), shared_oracle(), whole=EVERYTHING)
    wrong = [
        f"{outcome.case}\n{found.aspect} of {found.probe or 'all'}: {found.text}"
        for outcome in outcomes
        for found in outcome.unexpected
    ]
    assert not wrong, "\n\n".join(wrong)


def test_every_public_function_has_cases():
    prefixes = {"jax.lax": "", "jax.lax.linalg": "linalg."}
    public = {
        prefixes[name.namespace] + name.name
        for name in read_names(ROOT / "tools" / "data" / "surface.tsv")
        if name.namespace in prefixes and name.kind == "function"
    }
    assert public - COLLECTIVES == set(FUNCTIONS)


@pytest.mark.parametrize("topic", TOPICS)
def test_cases_are_told_apart(topic):
    shown = [str(case) + str(case.inputs) for case in TOPICS[topic]]
    assert len(shown) == len(set(shown))


@pytest.mark.parametrize("row", EXPECTED, ids=lambda row: f"{row.functions}-{row.aspect}")
def test_an_expected_difference_holds_both_texts_and_a_reason(row):
    assert row.reason and row.aspect and row.probe
    assert not {row.ours, row.theirs} & {"", "*"}

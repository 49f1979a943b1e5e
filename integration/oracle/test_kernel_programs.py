"""Kernels compute as in JAX's interpreter: values, dtypes, and classes of errors.

Each program of `data/kernel_programs.txt` is evaluated by both sides, with 64-bit types off and on,
and the printed jaxprs of its kernel calls are compared; `data/kernel_jaxprs.txt` has both texts
where they differ. A run takes a sample, and with RICCI_ORACLE_CASES=all, as `nox -s oracle-full`
sets it, all. Programs whose title begins with "wrong" raise, and have no jaxprs.
"""

import difflib
import os
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ricci_xla", reason="programs are compiled")

from kernel_jaxprs import RECORDER, canonical
from oracle_programs import disagreements

from ricci_testing import Oracle, Request, evaluate_with, ricci_namespace, shared_oracle


def _blocks(name: str) -> dict[str, str]:
    """The parts of a file of data, by their titles."""
    text = (Path(__file__).parents[1] / "data" / name).read_text()
    return dict(block.split("\n", 1) for block in text.split("\n## ")[1:])


EVERYTHING = os.environ.get("RICCI_ORACLE_CASES") == "all"
PROGRAMS = _blocks("kernel_programs.txt")
PRINTED = [title for title in PROGRAMS if not title.startswith("wrong")]
# By a title, with " (64)" where the text is another with 64-bit types: the reason, and the lines.
ACCEPTED = _blocks("kernel_jaxprs.txt")
# The equations of these fill pages on one side, where the other has one primitive.
NOT_COMPARED = {
    "random bits of the simulator": "JAX has primitives for the bits, and we Threefry's equations",
    "a ring: each device sends what it got to the next": "JAX prints copies as trees of operands",
    "a ring that sums what passes": "JAX prints copies as trees of operands",
}
# JAX's interpreter runs these, and by default ours raises: the class of the mistake in each.
REFUSED = {
    "elements with padding": "behind its end",
    "elements of outputs with padding": "no step of the grid",
    "index maps past the end, and negative ones": "behind its end",
    "dynamic indices past the end": "out of bounds",
    "semaphores": "Wait for each signal",
}
UNCHECKED = {"jax_error_checking_behavior_oob": "ignore"}
START = """
import functools, importlib
N = jax.__name__
pl, pltpu, plgpu = (
    importlib.import_module(f"{N}.experimental.pallas{part}") for part in ("", ".tpu", ".triton")
)
S = jax.ShapeDtypeStruct
f32 = jnp.float32
def call(kernel, shape=(8,), dtype=f32, **options):
    return pl.pallas_call(kernel, S(shape, dtype), interpret=True, **options)
def blocks(n, shape=(4,)):
    return dict(
        grid=(n,),
        in_specs=[pl.BlockSpec(shape, lambda i: (i,))],
        out_specs=pl.BlockSpec(shape, lambda i: (i,)),
    )
def copy(x, o):
    o[...] = x[...]
def double(x, o):
    o[...] = x[...] * 2
x = jnp.arange(8, dtype=f32)
M = (jnp.arange(256, dtype=f32) % 7 - 3).reshape(16, 16)
"""


@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
@pytest.mark.parametrize("wide", [False, True], ids=["32", "64"])
def test_kernel_programs_agree_with_jax(wide):
    names = list(PROGRAMS) if EVERYTHING else random.Random(f"{wide}").sample(list(PROGRAMS), 12)
    programs = {name: START + PROGRAMS[name].rstrip() for name in names}
    config: dict[str, Any] = {"jax_enable_x64": wide}
    checked = {name: program for name, program in programs.items() if name not in REFUSED}
    wrong = disagreements(checked, config)
    refused = {name: program for name, program in programs.items() if name in REFUSED}
    wrong += disagreements(refused, config | UNCHECKED)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("wide", [False, True], ids=["32", "64"])
@pytest.mark.parametrize("name", REFUSED)
def test_mistakes_that_the_interpreter_of_jax_runs_raise(name, wide):
    source = START + PROGRAMS[name].rstrip()
    result = evaluate_with(ricci_namespace(), source, {}, config={"jax_enable_x64": wide})
    assert result.error is not None
    assert result.error.name == "ValueError"
    assert REFUSED[name] in result.error.message


def _lines(result) -> list[str]:
    """The equations of the jaxprs that a program has recorded."""
    assert result.error is None, result.error
    return [line for text in str(result.value).split("\n\n") for line in canonical(text)]


def jaxpr_differences(titles: list[str], wide: bool) -> dict[str, list[str]]:
    """By the title of a program, the lines of its jaxprs that JAX prints (-) and we print (+)."""
    config = {"jax_enable_x64": wide}
    end = '\n"\\n\\n".join(pl.texts)'
    sources = [START + RECORDER + PROGRAMS[title].rstrip() + end for title in titles]
    theirs = shared_oracle().run_many([Request(x, {}, config) for x in sources], timeout=900.0)
    differences = {}
    for title, source, their in zip(titles, sources, theirs, strict=True):
        our = evaluate_with(ricci_namespace(), source, {}, config=config)
        lines = list(difflib.unified_diff(_lines(their), _lines(our), lineterm="", n=0))[2:]
        differences[title] = [line for line in lines if not line.startswith("@@")]
    return differences


@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
@pytest.mark.parametrize("wide", [False, True], ids=["32", "64"])
def test_jaxprs_of_kernels_print_as_in_jax(wide):
    titles = [title for title in PRINTED if title not in NOT_COMPARED]
    titles = titles if EVERYTHING else random.Random(f"{wide}").sample(titles, 24)
    for title, lines in jaxpr_differences(titles, wide).items():
        narrow = ACCEPTED.get(title, "")
        accepted = ACCEPTED.get(f"{title} (64)", narrow) if wide else narrow
        assert lines == accepted.splitlines()[1:], title


def test_accepted_jaxprs_are_those_of_programs():
    assert {title.removesuffix(" (64)") for title in ACCEPTED} <= {*PRINTED}
    assert {*NOT_COMPARED} <= {*PRINTED}
    empty = [title for title, text in ACCEPTED.items() if len(text.splitlines()) < 2]
    assert not [title for title in empty if not title.endswith(" (64)")]

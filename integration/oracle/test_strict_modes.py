"""Public functions run where promotion is refused and where jaxprs are checked.

Under `jax_numpy_dtype_promotion=strict`, `jax_numpy_rank_promotion=raise`, `jax_enable_checks`, and
all three, a call fails only if JAX's fails too. Each function of the NumPy API and of lax is called
eagerly, and its derivative under `jit`. A run takes a sample; with RICCI_ORACLE_CASES=all it takes
every call.
"""

import os
import random
from pathlib import Path

import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")
import lax_cases
import numpy_cases

import ricci.scipy as jsp
from ricci_testing import Oracle, Request, evaluate_with, ricci_namespace, shared_oracle

EVERYTHING = os.environ.get("RICCI_ORACLE_CASES") == "all"
MODES = {
    "strict": {"jax_numpy_dtype_promotion": "strict"},
    "raise": {"jax_numpy_rank_promotion": "raise"},
    "checks": {"jax_enable_checks": True},
}
MODES["all"] = {option: value for mode in MODES.values() for option, value in mode.items()}
OPERANDS = """
import numpy as np
F = jnp.array([1.0, 2.0, 3.0], 'float32')
H = jnp.array([0.25, 0.5, 0.75], 'float32')
I = jnp.array([0, 1, 2], 'int32')
M = jnp.array([[1.0, 2.0, 3.0], [2.0, 5.0, 4.0]], 'float32')
S = jnp.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]], 'float32')
L = jnp.sin(jnp.arange(32, dtype='float32'))
A = jnp.ones((1, 4, 2, 8), 'float32')
K = random.key(0)
"""
SUBMODULES = "cluster.vq fft integrate interpolate linalg ndimage optimize signal sparse.linalg"
IMPORTS = "import jax.scipy as jsp, jax.image, jax.experimental.sparse.linalg\n" + "".join(
    f"import jax.scipy.{name}\n" for name in f"{SUBMODULES} spatial.transform special stats".split()
)
LIBRARY = (Path(__file__).parents[1] / "data" / "library_calls.txt").read_text().splitlines()[1:]
NUMPY = {
    name: [call for call in calls if not call.bad]
    for name, calls in numpy_cases.by_function().items()
}
TABLES = {"numpy": {name: calls for name, calls in NUMPY.items() if calls}}
TABLES["lax"] = lax_cases.by_function()

pytestmark = pytest.mark.skipif(
    not Oracle.available(), reason="oracle environment missing: run nox -s oracle"
)


def failing(requests, imports=""):
    """The requests that fail here, and not with JAX."""
    space = {**ricci_namespace(), "jsp": jsp}
    ours = [evaluate_with(space, r.source, r.inputs, config=r.config) for r in requests]
    failed = [(r, our) for r, our in zip(requests, ours, strict=True) if our.error]
    asked = [Request(imports + r.source, r.inputs, r.config) for r, _ in failed]
    theirs = shared_oracle().run_many(asked, timeout=900.0)
    return [
        f"{r.source.splitlines()[-1]}\n{our.error.name}: {our.error.message}"
        for (r, our), their in zip(failed, theirs, strict=True)
        if not their.error
    ]


def derived(call):
    """The text of a call under jit, with its derivative where it has one."""
    names = ", ".join(call.diff)
    value = f"jax.vjp(lambda {names}: {call.source}, {names})[0]" if names else call.source
    return f"jax.jit(lambda: {value})()"


@pytest.mark.parametrize("form", ["eager", "derived"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("table", TABLES)
def test_calls_of_numpy_and_lax(table, mode, form):
    draw = random.Random(f"{table} {mode} {form}")
    by_function = list(TABLES[table].values())
    if EVERYTHING:
        calls = [call for calls in by_function for call in calls]
    else:
        calls = [draw.choice(calls) for calls in draw.sample(by_function, 8)[:6]]
    requests = [
        Request(
            call.source if form == "eager" else derived(call),
            call.inputs,
            {**MODES[mode], "jax_enable_x64": call.x64},
        )
        for call in calls
    ]
    wrong = failing(requests)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("wide", [False, True], ids=["32", "64"])
@pytest.mark.parametrize("mode", MODES)
def test_calls_of_the_other_libraries(mode, wide):
    lines = LIBRARY if EVERYTHING else random.Random(f"{mode} {wide}").sample(LIBRARY, 6)
    config = {**MODES[mode], "jax_enable_x64": wide}
    wrong = failing([Request(OPERANDS + line, {}, config) for line in lines], IMPORTS)
    assert not wrong, "\n\n".join(wrong)

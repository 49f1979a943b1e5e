"""Public functions run where promotion or a transfer is refused, and where jaxprs are checked.

Under `jax_numpy_dtype_promotion=strict`, `jax_numpy_rank_promotion=raise`, `jax_enable_checks`, and
all three, a call fails only if JAX's fails too. Each function of the NumPy API, of lax and of the
other libraries is called eagerly, and traced with its derivative.

Under transfer guards, a call on arrays that are on the device is refused only if JAX's is, too. A
number that the call itself holds may be copied, or be a constant of what is compiled.

A run takes a sample; with RICCI_ORACLE_CASES=all it takes every call, traced at both widths.
"""

import importlib
import inspect
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")
import lax_cases
import numpy_cases
from library_cases import LINES, MODULES, OPERANDS, SUBMODULES, used_operands

import ricci.experimental.sparse.linalg  # noqa: F401 - its import is what calls need
import ricci.scipy as jsp
from ricci_testing import Oracle, Request, Result, evaluate_with, ricci_namespace, shared_oracle

EVERYTHING = os.environ.get("RICCI_ORACLE_CASES") == "all"
MODES: dict[str, dict[str, Any]] = {
    "strict": {"jax_numpy_dtype_promotion": "strict"},
    "raise": {"jax_numpy_rank_promotion": "raise"},
    "checks": {"jax_enable_checks": True},
}
MODES["all"] = {option: value for mode in MODES.values() for option, value in mode.items()}
# The gradients of a call by its operands, with its results as cotangents.
PULLBACK = """
import numpy as np
def pullback(function, *operands):
    results, pull = jax.vjp(function, *operands)
    zero = lambda x: np.zeros(x.shape, jax.dtypes.float0)
    inexact = lambda x: jax.dtypes.issubdtype(x.dtype, np.inexact)
    return pull(jax.tree.map(lambda x: x if inexact(x) else zero(x), results))
"""
# The outcome of a call's second run under each level of the guards.
GUARDED = """
def outcome(level, call):
    try:
        with jax.transfer_guard(level):
            call()
    except Exception as error:
        assert "Disallowed" in str(error), error
        return "refused"
    return "allowed"
def guarded(call):
    call()
    return [outcome(level, call) for level in ("disallow", "disallow_explicit")]
"""
IMPORTS = "import jax.scipy as jsp\n" + "".join(f"import jax.{name}\n" for name in MODULES)
# Types, and functions that take no arrays.
WITHOUT_CALL = {"random.Key", "random.key_dtype", "nn.get_scaled_dot_general_config"}
# Calls that JAX accepts, by the beginning of the error that is accepted.
ACCEPTED = {
    "jnp.negative.at(x0, x1, inplace=False)": "NotImplementedError: scatter_apply has no derivative"
}
TOPICS = [f"numpy {topic}" for topic in numpy_cases.TOPICS]
TOPICS += [f"lax {topic}" for topic in lax_cases.TOPICS] + ["libraries"]

pytestmark = pytest.mark.skipif(
    not Oracle.available(), reason="oracle environment missing: run nox -s oracle"
)


@dataclass(frozen=True, slots=True)
class Program:
    """A call as text, its operands by name, those to differentiate by, and the width."""

    source: str
    inputs: Mapping[str, Any]
    diff: tuple[str, ...]
    x64: bool
    definitions: str = PULLBACK
    imports: str = ""

    def request(self, form: str, mode: str) -> Request:
        """Return the request for the call, or for the types of its results and gradients."""
        names = ", ".join(self.diff)
        call = self.source
        if form == "traced":
            value = f"pullback(lambda {names}: {call}, {names})" if names else call
            call = f"jax.eval_shape(lambda {names}: {value}, {names})"
        config = {**MODES[mode], "jax_enable_x64": self.x64}
        return Request(self.definitions + call, self.inputs, config)

    def guarded_request(self) -> Request:
        """Return the request for what transfer guards do to the call."""
        call = f"guarded(lambda: {self.source})"
        config = {"jax_enable_x64": self.x64}
        return Request(self.definitions + GUARDED + call, self.inputs, config)


@cache
def programs(topic: str) -> list[Program]:
    """List the calls of a topic, each at the width of its operands."""
    library, _, name = topic.partition(" ")
    if library == "libraries":
        definitions = OPERANDS + PULLBACK
        return [
            Program(line, {}, used_operands(line), False, definitions, IMPORTS) for line in LINES
        ]
    if library == "numpy":
        calls = [call for call in numpy_cases.TOPICS[name] if not call.bad]
    else:
        calls = lax_cases.TOPICS[name]
    return [Program(call.source, call.inputs, call.diff, call.x64) for call in calls]


def evaluate_here(request: Request) -> Result:
    """Evaluate a request with Ricci."""
    space = {**ricci_namespace(), "jsp": jsp}
    return evaluate_with(space, request.source, request.inputs, config=request.config)


def failing(programs: list[Program], form: str) -> list[str]:
    """The calls that fail in a mode with Ricci, and not with JAX, each with its error.

    Modes only refuse, so a call that works in all of them at once works in each.
    """
    refused = [p for p in programs if evaluate_here(p.request(form, "all")).error]
    failed = [
        (program, mode, f"{error.name}: {error.message}")
        for program in refused
        for mode in MODES
        if (error := evaluate_here(program.request(form, mode)).error)
    ]
    asked = [program.request(form, mode) for program, mode, _ in failed]
    theirs = shared_oracle().run_many(
        [
            replace(request, source=program.imports + request.source)
            for request, (program, _, _) in zip(asked, failed, strict=True)
        ],
        timeout=900.0,
    )
    return [
        f"{program.source} ({mode}, {64 if program.x64 else 32} bits)\n{error}"
        for (program, mode, error), their in zip(failed, theirs, strict=True)
        if not their.error and not error.startswith(ACCEPTED.get(program.source, error + "."))
    ]


def refused(programs: list[Program]) -> list[str]:
    """The calls that a transfer guard refuses with Ricci, and not with JAX."""
    requests = [program.guarded_request() for program in programs]
    ours = [_outcomes(evaluate_here(request)) for request in requests]
    asked = [i for i, outcomes in enumerate(ours) if outcomes != ["allowed", "allowed"]]
    theirs = shared_oracle().run_many(
        [replace(requests[i], source=programs[i].imports + requests[i].source) for i in asked],
        timeout=900.0,
    )
    return [
        f"{programs[i].source} ({64 if programs[i].x64 else 32} bits): {ours[i]}, JAX {allowed}"
        for i, allowed in zip(asked, map(_outcomes, theirs), strict=True)
        if "allowed" in allowed and ours[i] != allowed
    ]


def _outcomes(result: Result) -> list[str]:
    error = result.error
    return [error.message] if error else [leaf.value for leaf in result.leaves]


def public_functions() -> list[str]:
    """The functions of the other libraries, as ``library_calls.txt`` calls them."""
    modules = [*(f"scipy.{name}" for name in SUBMODULES.split()), "random", "nn", "image", "ops"]
    functions = []
    for module in modules:
        space = importlib.import_module(f"ricci.{module}")
        for name in getattr(space, "__all__", dir(space)):
            value = getattr(space, name)
            if name.startswith("_") or inspect.isclass(value):
                continue
            is_distribution = module == "scipy.stats" and inspect.ismodule(value)
            members = inspect.getmembers(value, callable) if is_distribution else []
            names = [f"{name}.{member}" for member, _ in members if not member.startswith("_")]
            functions += [f"{module}.{each}" for each in ([name] if callable(value) else names)]
    return functions


def test_every_function_of_the_other_libraries_has_a_call():
    text = "\n".join(LINES)
    names = [name.removeprefix("scipy.") for name in public_functions()]
    assert len(names) > 300
    assert [name for name in names if f"{name}(" not in text and name not in WITHOUT_CALL] == []


@pytest.mark.sampled(22)
@pytest.mark.parametrize("form", ["eager", "traced"])
@pytest.mark.parametrize("topic", TOPICS)
def test_no_mode_refuses_a_call_that_jax_accepts(topic, form):
    chosen = programs(topic)
    if EVERYTHING and (form == "traced" or topic == "libraries"):
        chosen = chosen + [replace(p, x64=True) for p in chosen if not p.x64]
    elif not EVERYTHING:
        chosen = random.Random(f"{topic} {form}").sample(chosen, 3)
    wrong = failing(chosen, form)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.sampled(4)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("topic", TOPICS)
def test_no_guard_refuses_a_call_that_jax_accepts(topic):
    chosen = programs(topic)
    if not EVERYTHING:
        chosen = random.Random(f"{topic} guarded").sample(chosen, 4)
    wrong = refused(chosen)
    assert not wrong, "\n\n".join(wrong)

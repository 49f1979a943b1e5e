"""Bad calls of lax: the class of error that JAX gives, a message of our own, and life goes on."""

import re

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")
from lax_cases import by_function, exists
from lax_cases.bad_calls import BAD, OPERANDS
from lax_cases.bad_differences import ACCIDENTAL, difference, namesakes

import ricci
from ricci_testing import Oracle, Request, evaluate_with, ricci_namespace, shared_oracle

LINES = 12
FOREIGN = re.compile(
    r"INVALID_ARGUMENT|XlaRuntimeError|JaxRuntimeError|INTERNAL:|mlir|stablehlo", re.I
)
_needs_oracle = pytest.mark.skipif(
    not Oracle.available(), reason="oracle environment missing: run nox -s oracle"
)


def requests(function):
    used = {
        call: {name: value for name, value in OPERANDS.items() if re.search(rf"\b{name}\b", call)}
        for call in dict.fromkeys(BAD[function])
    }
    return [Request(call, inputs) for call, inputs in used.items()]


def ours(function):
    namespace = ricci_namespace()
    return [evaluate_with(namespace, r.source, r.inputs) for r in requests(function)]


@pytest.fixture(params=BAD)
def function(request):
    if not exists(request.param):
        pytest.skip(f"ricci_lax has no {request.param} yet; tools/surface.py lists it")
    return request.param


@pytest.mark.sampled(50)
@_needs_oracle
def test_the_class_is_jaxs(function):
    wrong = []
    theirs = shared_oracle().run_many(requests(function))
    for request, mine, their in zip(requests(function), ours(function), theirs, strict=True):
        found, expected = mine.error and mine.error.name, their.error and their.error.name
        if expected in ACCIDENTAL and found in ("TypeError", "ValueError"):
            continue
        if found != expected and difference(request.source, found, expected) is None:
            message = mine.error.message if mine.error else ""
            wrong.append(f"{request.source}: {found}, not {expected}\n  {message[:300]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.sampled(67)
def test_the_message_is_short_our_own_and_names_the_function(function):
    wrong = []
    for request, result in zip(requests(function), ours(function), strict=True):
        if result.error is None:
            continue
        message = result.error.message
        if len(message.splitlines()) > LINES:
            wrong.append(f"{request.source}: {len(message.splitlines())} lines")
        if FOREIGN.search(message) or FOREIGN.search(result.error.name):
            wrong.append(f"{request.source}: an error of the compiler:\n  {message[:300]}")
        if not any(name in message for name in namesakes(function)):
            wrong.append(f"{request.source}: {function} is not named:\n  {message[:300]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.sampled(30)
def test_good_calls_work_after_bad_ones(function):
    ours(function)
    x = np.arange(3, dtype=np.float32)
    f = ricci.jit(ricci.grad(lambda x: ricci.lax.reduce_sum(ricci.lax.sin(x), (0,))))
    np.testing.assert_allclose(f(x), np.cos(x), rtol=1e-6)
    np.testing.assert_array_equal(ricci.vmap(ricci.lax.neg)(x), -x)


def test_every_function_with_cases_has_three_bad_calls():
    assert set(by_function()) == set(BAD)
    assert not [name for name, calls in BAD.items() if len(set(calls)) < 3]

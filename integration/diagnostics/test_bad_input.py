"""Bad input gets a clear error, and the process goes on working."""

import traceback
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import errors, grad, jit, pmap, vmap


class Case(NamedTuple):
    """A mistake, the class of its error, and what the message must mention."""

    mistake: Callable
    error: type[Exception]
    mentions: tuple[str, ...]


def _branch(x):
    return x if x > 0 else -x


_leaked = []


def _leak():
    jit(lambda x: (_leaked.append(x * 2), x)[1])(1.0)
    return _leaked[-1] + 1


def _use_donated():
    f = jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.ones(3)
    f(x)
    return x + 1


def _assign():
    x = jnp.zeros(3)
    x[1] = 2.0


def _assign_traced(x):
    x[1] = 2.0
    return x


def _add(first, second):
    return first + second


CASES = {
    "tracer in an if": Case(
        lambda: jit(_branch)(1.0), errors.TracerBoolConversionError, ("bool[]", "where")
    ),
    "tracer in an if under vmap": Case(
        lambda: vmap(_branch)(jnp.ones(3)), errors.TracerBoolConversionError, ("bool[]",)
    ),
    "tracer in np.asarray": Case(
        lambda: jit(lambda x: np.asarray(x))(1.0), errors.TracerArrayConversionError, ("float32[]",)
    ),
    "tracer as a list index": Case(
        lambda: jit(lambda x: [1, 2, 3][x])(1), errors.TracerIntegerConversionError, ("int32[]",)
    ),
    "tracer as a shape": Case(lambda: jit(lambda x: jnp.zeros(x))(3), TypeError, ("static",)),
    "leaked tracer": Case(_leak, errors.UnexpectedTracerError, ("escaped", "mul")),
    "non-scalar loss": Case(
        lambda: grad(lambda x: x * 2)(jnp.ones(3)), TypeError, ("scalar-output function", "(3,)")
    ),
    "integer input to grad": Case(
        lambda: grad(lambda weights: weights * 2)(3), TypeError, ("weights", "int32", "allow_int")
    ),
    "mismatched vmap sizes": Case(
        lambda: vmap(_add)(jnp.ones(3), jnp.ones(4)), ValueError, ("first", "3", "second", "4")
    ),
    "wrong in_axes tree": Case(
        lambda: vmap(lambda d: d["a"], in_axes=({"b": 0},))({"a": jnp.ones(3)}),
        ValueError,
        ("in_axes",),
    ),
    "too few in_axes": Case(
        lambda: vmap(_add, in_axes=(0,))(jnp.ones(3), jnp.ones(3)), ValueError, ("in_axes", "2")
    ),
    "unhashable static argument": Case(
        lambda: jit(lambda x, n: x, static_argnums=1)(1.0, [1]), ValueError, ("hash", "list")
    ),
    "donated buffer used again": Case(_use_donated, RuntimeError, ("deleted", "donate")),
    "shapes that do not broadcast": Case(
        lambda: jnp.ones((2, 3)) + jnp.ones(4), ValueError, ("(2, 3)", "(4,)")
    ),
    "more replicas than devices": Case(
        lambda: pmap(lambda x: x)(jnp.ones(100)), ValueError, ("100", "devices")
    ),
    "assignment to an element": Case(_assign, TypeError, ("immutable", ".at[")),
    "assignment to an element of a traced array": Case(
        lambda: jit(_assign_traced)(jnp.zeros(3)), TypeError, ("immutable", ".at[")
    ),
    "array of objects": Case(lambda: jnp.array([object()]), TypeError, ("object",)),
    "array of strings": Case(lambda: jnp.array(["a"]), TypeError, ("'a'",)),
    "string argument to jit": Case(
        lambda: jit(lambda text: text)("a"), TypeError, ("text", "str", "static")
    ),
    "list operand": Case(lambda: jnp.add([1, 2], 3), TypeError, ("add", "list")),
    "unbound axis name": Case(lambda: ricci.lax.psum(jnp.ones(3), "i"), NameError, ("'i'",)),
    "matmul of shapes that do not fit": Case(
        lambda: jnp.ones((2, 3)) @ jnp.ones((2, 3)), TypeError, ("(2, 3)",)
    ),
}


@pytest.fixture(params=CASES, ids=lambda name: name.replace(" ", "-"))
def case(request):
    return CASES[request.param]


def _raised(case: Case) -> BaseException:
    with pytest.raises(case.error) as info:
        case.mistake()
    return info.value


def test_class_and_text(case):
    message = str(_raised(case))
    for word in case.mentions:
        assert word in message


def test_a_dozen_lines_at_most(case):
    assert len(str(_raised(case)).splitlines()) <= 12


def test_internal_frames_are_hidden(case):
    frames = traceback.extract_tb(_raised(case).__traceback__)
    shown = [frame for frame in frames if "/ricci_" in frame.filename.replace("\\", "/")]
    assert not shown
    assert frames[-1].filename == __file__


def test_the_process_goes_on(case):
    _raised(case)
    f = jit(grad(lambda x: jnp.sum(jnp.sin(x) * x)))
    x = jnp.arange(3.0)
    np.testing.assert_allclose(f(x), np.cos(x) * x + np.sin(x), rtol=1e-5)
    np.testing.assert_allclose(vmap(lambda a: a + 1)(x), np.arange(3.0) + 1)

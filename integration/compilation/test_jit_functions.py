"""The arguments of `jit`, its errors, and jitted functions as objects: copies, signatures."""

import copy
import inspect

import pytest

import ricci
import ricci.numpy as jnp
from ricci import jit


def two(x, y):
    return x * y


def by_position(x, y, /):
    return x


def generator(x):
    yield x


class Slotted:
    __slots__ = ()

    def __call__(self, x):
        return x


class Unhashable:
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __call__(self, x):
        return x


@pytest.mark.parametrize(
    ("fun", "error", "message"),
    [
        (3, TypeError, "callable"),
        (classmethod(two), TypeError, "callable"),
        (staticmethod(two), TypeError, "@staticmethod above @jit"),
        (generator, TypeError, "generator"),
        (Slotted(), TypeError, "weak reference"),
        (Unhashable(), TypeError, "unhashable"),
    ],
)
def test_jit_refuses_invalid_functions_when_it_wraps_them(fun, error, message):
    with pytest.raises(error, match=message):
        jit(fun)


@pytest.mark.parametrize("kind", ["static", "donate"])
@pytest.mark.parametrize(
    ("fun", "options", "error"),
    [
        (two, {"argnames": "z"}, ValueError),
        (two, {"argnames": ("y", "z")}, ValueError),
        (two, {"argnames": 1}, TypeError),
        (two, {"argnames": (1,)}, TypeError),
        (two, {"argnums": 2}, ValueError),
        (two, {"argnums": -3}, ValueError),
        (two, {"argnums": "y"}, TypeError),
        (two, {"argnums": 1.5}, TypeError),
        (by_position, {"argnames": "y"}, ValueError),
    ],
)
def test_static_and_donated_arguments_that_are_refused(kind, fun, options, error):
    with pytest.raises(error):
        jit(fun, **{f"{kind}_{name}": value for name, value in options.items()})


@pytest.mark.parametrize("options", [{"argnames": ("y", "y")}, {"argnums": (1, 1)}])
def test_arguments_named_twice(options):
    assert jit(two, **{f"static_{name}": value for name, value in options.items()})(2.0, 3) == 6
    donating = jit(two, **{f"donate_{name}": value for name, value in options.items()})
    assert donating(jnp.ones(3), jnp.ones(3) * 2).tolist() == [2, 2, 2]


def test_static_methods_are_jitted_inside():
    class Model:
        @staticmethod
        @jit
        def double(x):
            return x * 2

    assert (Model.double(1.0), Model().double(2.0)) == (2, 4)


def test_wrapping_many_times_reads_the_signature_once_each(monkeypatch):
    read = inspect._signature_from_callable  # pyright: ignore[reportAttributeAccessIssue]
    calls = []
    monkeypatch.setattr(
        inspect, "_signature_from_callable", lambda *a, **k: (calls.append(1), read(*a, **k))[1]
    )
    f = two
    for _ in range(10):
        f = jit(ricci.checkpoint(jit(f)))
    assert f(2.0, y=3.0) == 6
    assert len(calls) < 200


@pytest.mark.parametrize("wrap", [jit, ricci.custom_jvp, ricci.custom_vjp, ricci.checkpoint])
def test_the_signature_is_that_of_the_function(wrap):
    assert str(inspect.signature(wrap(jit(two)))) == "(x, y)"


def _custom_jvp():
    f = ricci.custom_jvp(lambda x: x * 2)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * 5))
    return f


def _custom_vjp():
    f = ricci.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct * 5,))
    return f


@pytest.mark.parametrize("make", [_custom_jvp, _custom_vjp], ids=["custom_jvp", "custom_vjp"])
@pytest.mark.parametrize("pickled", [False, True])
def test_copies_of_custom_functions(make, pickled):
    f = make()
    if pickled:
        cloudpickle = pytest.importorskip("cloudpickle", reason="is not among the requirements")
        copied = cloudpickle.loads(cloudpickle.dumps(f))
    else:
        copied = copy.deepcopy(f)
    assert (copied(2.0), ricci.grad(copied)(1.0), ricci.grad(f)(1.0)) == (4, 5, 5)


@pytest.mark.parametrize("pickled", [False, True])
def test_copies_of_jitted_functions(pickled):
    f = jit(lambda x, n: x * n, static_argnums=1)
    if pickled:
        cloudpickle = pytest.importorskip("cloudpickle", reason="is not among the requirements")
        copied = cloudpickle.loads(cloudpickle.dumps(f))
    else:
        copied = copy.deepcopy(f)
    assert (copied(2.0, 3), f(2.0, 4)) == (6, 8)


@pytest.mark.parametrize("called", [False, True])
def test_calls_with_described_arrays_advise_to_trace_only(called):
    f = jit(lambda x: x["a"] + 1)
    if called:
        f({"a": jnp.ones(3, "float32")})
    described = ricci.ShapeDtypeStruct((3,), "float32")
    words = r"argument x\['a'\] of <lambda> is .* Pass it to eval_shape.* or to jit\(f\).lower"
    with pytest.raises(TypeError, match=words):
        f({"a": described})
    for g in (ricci.vmap, ricci.grad, lambda f: f):
        with pytest.raises(TypeError, match=r"Pass it to eval_shape"):
            g(jnp.sin)(described)
    assert f.lower({"a": described}).compile()({"a": jnp.ones(3, "float32")}).tolist() == [2] * 3

"""A toy world: a few primitives and a backend that evaluates them with NumPy."""

from types import SimpleNamespace

import numpy as np
import pytest

import ricci_ir as ir


def _same(*avals, **params):
    if any(aval.shape != avals[0].shape for aval in avals):
        raise TypeError(f"shapes differ: {', '.join(str(aval.shape) for aval in avals)}")
    return avals[0].update(weak_type=all(aval.weak_type for aval in avals))


def _halves(aval, *, size):
    return [aval.update(shape=(size,)), aval.update(shape=(aval.shape[0] - size,))]


class Print(ir.Effect):
    """The effect of the toy ``print``."""

    def __str__(self):
        return "Print"


PRINT = Print()

sin = ir.Primitive("sin", _same)
mul = ir.Primitive("mul", _same)
split = ir.Primitive("split", _halves, multiple_results=True)
show = ir.Primitive(
    "show", lambda *avals: [], multiple_results=True, effects=lambda params: frozenset({PRINT})
)
call = ir.Primitive(
    "jit", lambda *avals, jaxpr, name: jaxpr.out_avals, multiple_results=True, memo=False
)
both = ir.Primitive("both", lambda x, *, branches: x, memo=False)

_compute = {
    sin: np.sin,
    mul: np.multiply,
    split: lambda x, size: [x[:size], x[size:]],
    show: lambda *args: [],
    call: lambda *args, jaxpr, name: ir.eval_jaxpr(jaxpr, jaxpr.consts, *args),
}


class NumpyBackend:
    name = "toy"

    def evaluate(self, primitive, args, params):
        args = [np.asarray(x, ir.get_aval(x).dtype) for x in args]
        return _compute[primitive](*args, **params)

    def array(self, value, aval):
        return value


@pytest.fixture
def toy(monkeypatch):
    """The toy primitives, with their backend in place and ``call`` as the staged call."""
    monkeypatch.setattr(ir.staged_call, "call", call)
    old = ir.set_backend(NumpyBackend())  # of all threads
    try:
        yield SimpleNamespace(
            sin=sin.bind,
            mul=mul.bind,
            split=split.bind,
            show=show.bind,
            call=lambda jaxpr, *args, name="f": call.bind(*args, jaxpr=jaxpr, name=name),
            both=lambda x, *branches: both.bind(x, branches=branches),
            primitives=SimpleNamespace(sin=sin, mul=mul, split=split, show=show, call=call),
            effect=PRINT,
        )
    finally:
        ir.set_backend(old)

"""A toy world: primitives with derivative rules, and a backend that evaluates them with NumPy."""

from types import SimpleNamespace

import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_ir as ir


def primitive(name, abstract_eval, jvp, transpose, linearize=None, **options):
    """A primitive with the rules of this package alone."""
    p = ir.Primitive(name, abstract_eval, **options)
    ad.jvp_rules.define(p, jvp)
    ad.transpose_rules.define(p, transpose)
    if linearize is not None:
        ad.linearize_rules.define(p, linearize)
    return p


def _same(*avals):
    if any(a.shape != avals[0].shape for a in avals):
        raise TypeError(f"shapes differ: {', '.join(str(a.shape) for a in avals)}")
    return avals[0].update(weak_type=all(a.weak_type for a in avals))


sin = primitive("sin", _same, ad.per_operand(lambda t, x: mul.bind(t, cos.bind(x))), ad.not_linear)
cos = primitive(
    "cos", _same, ad.per_operand(lambda t, x: neg.bind(mul.bind(t, sin.bind(x)))), ad.not_linear
)
exp = primitive(
    "exp", _same, ad.per_operand_with_result(lambda t, y, x: mul.bind(t, y)), ad.not_linear
)
neg = primitive("neg", _same, ad.linear, lambda ct, x: [neg.bind(ct)])
add = primitive("add_any", _same, ad.linear, lambda ct, x, y: [ct, ct])
mul = primitive(
    "mul", _same, **ad.bilinear(lambda ct, x, y: mul.bind(ct, y), lambda ct, x, y: mul.bind(x, ct))
)
floor = primitive("floor", _same, ad.zero_derivative, ad.not_linear)
# Its jvp rule returns something that depends on no tangent.
settled = primitive(
    "settled",
    _same,
    lambda primals, tangents: (settled.bind(*primals), cos.bind(*primals)),
    ad.not_linear,
)
total = primitive(
    "total",
    lambda x: x.update(shape=()),
    ad.linear,
    lambda ct, x: [spread.bind(ct, shape=x.aval.shape)],
)
spread = primitive(
    "spread",
    lambda x, shape: x.update(shape=shape),
    ad.linear,
    lambda ct, x, shape: [total.bind(ct)],
)
swap = primitive(
    "swap",
    lambda x, y: [y, x],
    ad.linear,
    lambda cts, x, y: [cts[1], cts[0]],
    multiple_results=True,
)


def _call_jvp(primals, tangents, *, jaxpr, name):
    nonzeros = [type(t) is not ad.Zero for t in tangents]
    program, out_nonzeros = ad.jvp_jaxpr(jaxpr, nonzeros)
    given = [t for t in tangents if type(t) is not ad.Zero]
    outs = call.bind(*primals, *given, jaxpr=program, name=name)
    results, found = outs[: len(jaxpr.outvars)], iter(outs[len(jaxpr.outvars) :])
    return results, [
        next(found) if nonzero else ad.Zero.from_primal(r)
        for nonzero, r in zip(out_nonzeros, results, strict=True)
    ]


call = primitive(
    "jit",
    lambda *avals, jaxpr, name: jaxpr.out_avals,
    _call_jvp,
    lambda ct, *args, jaxpr, name: ad.transpose_call(
        ct, args, jaxpr, lambda program, xs: call.bind(*xs, jaxpr=program, name=name)
    ),
    ad.linearize_call,
    multiple_results=True,
    memo=False,
)

ad.split_rules.define(call, ad.split_call)

_compute = {
    sin: np.sin,
    cos: np.cos,
    exp: np.exp,
    neg: np.negative,
    add: np.add,
    mul: np.multiply,
    floor: np.floor,
    settled: lambda x: x,
    total: np.sum,
    spread: lambda x, shape: np.broadcast_to(x, shape),
    swap: lambda x, y: [y, x],
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
    """The toy primitives, with their backend, operations on tangents and staged call in place."""
    monkeypatch.setattr(ir.staged_call, "call", call)
    monkeypatch.setattr(ad.tangent_sum, "call", add.bind)
    monkeypatch.setattr(ad.zeros_of_type, "call", lambda aval: np.zeros(aval.shape, aval.dtype))
    with ir.use_backend(NumpyBackend()):
        yield SimpleNamespace(
            sin=sin.bind,
            cos=cos.bind,
            exp=exp.bind,
            neg=neg.bind,
            add=add.bind,
            mul=mul.bind,
            floor=floor.bind,
            settled=settled.bind,
            total=total.bind,
            swap=swap.bind,
            jit=_jit,
            primitive=primitive,
        )


def _jit(fun):
    programs = {}

    def jitted(*args):
        avals = tuple(map(ir.get_aval, args))
        if avals not in programs:
            programs[avals] = ir.trace_to_jaxpr(lambda *xs: [fun(*xs)], avals)
        return call.bind(*args, jaxpr=programs[avals], name="fun")[0]

    return jitted

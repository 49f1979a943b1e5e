"""check_jaxpr accepts what tracing makes, and finds each way of corrupting it."""

import numpy as np
import pytest

import ricci_ir as ir

X = ir.ShapedArray((3,), np.float32)


def program(toy):
    """A jaxpr with a call, two results of one equation, and an effect."""
    inner = ir.trace_to_jaxpr(lambda x: [toy.sin(x), toy.mul(x, np.ones(3, np.float32))], [X])

    def fun(x):
        y, z = toy.call(inner, x)
        toy.show(y)
        first, last = toy.split(z, size=1)
        return [toy.mul(y, z), first, last, 1.0]

    return ir.trace_to_jaxpr(fun, [X])


def with_equation(jaxpr, i, **changes):
    eqns = list(jaxpr.eqns)
    eqns[i] = eqns[i].replace(**changes)
    return jaxpr.replace(eqns=eqns)


def inside(jaxpr, corrupt):
    """The jaxpr with the program that its call holds corrupted."""
    eqn = jaxpr.eqns[0]
    return with_equation(jaxpr, 0, params={**eqn.params, "jaxpr": corrupt(eqn.params["jaxpr"])})


OTHER = ir.Var(ir.ShapedArray((2,), np.float32))
CORRUPTIONS = {
    "unbound operand": (
        lambda j: with_equation(j, 3, invars=[ir.Var(X), ir.Var(X)]),
        "an operand, is not bound",
    ),
    "equation dropped": (lambda j: j.replace(eqns=j.eqns[1:]), "is not bound"),
    "unbound result": (lambda j: j.replace(outvars=[ir.Var(X)]), "'e', a result of the jaxpr"),
    "dropped result used": (
        lambda j: with_equation(j, 0, outvars=[ir.DropVar(X), j.eqns[0].outvars[1]]),
        "is not bound",
    ),
    "bound twice": (lambda j: j.replace(eqns=[j.eqns[0], *j.eqns]), "already bound"),
    "argument bound again": (lambda j: with_equation(j, 3, outvars=[j.invars[0]]), "already bound"),
    "argument twice": (lambda j: j.replace(invars=[*j.invars, *j.invars]), "already bound"),
    "result type": (lambda j: with_equation(j, 3, outvars=[OTHER]), "a result of type float32[3]"),
    "operand types": (
        lambda j: with_equation(j, 3, invars=[j.eqns[2].outvars[0], j.eqns[2].outvars[1]]),
        "does not accept its operands: shapes differ",
    ),
    "too few results": (lambda j: with_equation(j, 2, outvars=[OTHER]), "gives 2 results"),
    "equation's effects": (
        lambda j: with_equation(j, 1, effects=frozenset()),
        "has effects {Print}, but the equation declares {}",
    ),
    "jaxpr's effects": (lambda j: j.replace(effects=frozenset()), "declares the effects {}"),
    "consts": (lambda j: j.replace(constvars=[OTHER], consts=[1, 2]), "2 constants"),
    "inner program": (
        lambda j: inside(j, lambda inner: inner.replace(eqns=inner.eqns[1:])),
        "is not bound",
    ),
    "inner program's types": (
        lambda j: inside(j, lambda inner: inner.replace(outvars=[*inner.outvars, *inner.outvars])),
        "gives 4 results",
    ),
}


def test_traced_programs_check(toy):
    ir.check_jaxpr(program(toy))


@pytest.mark.parametrize("kind", CORRUPTIONS)
def test_corruption_is_found(toy, kind):
    corrupt, message = CORRUPTIONS[kind]
    with pytest.raises(ir.JaxprTypeError) as caught:
        ir.check_jaxpr(corrupt(program(toy)))
    assert message in str(caught.value)
    assert len(str(caught.value).split("\n")) <= 12


def test_the_message_shows_the_equation_and_its_source(toy):
    jaxpr = program(toy)
    with pytest.raises(ir.JaxprTypeError) as caught:
        ir.check_jaxpr(with_equation(jaxpr, 3, outvars=[OTHER]))
    assert "= mul " in str(caught.value)
    assert f"from {__file__}:{jaxpr.eqns[3].source.line}:" in str(caught.value)


def test_check_jaxpr_accepts_a_lost_weak_type(toy):
    weak = ir.trace_to_jaxpr(lambda x: [toy.sin(x)], [X.update(weak_type=True)])
    strong = with_equation(weak, 0, outvars=[ir.Var(X)])
    ir.check_jaxpr(strong.replace(outvars=strong.eqns[0].outvars))

"""Errors of the derivative transformations: JAX's classes, and the messages."""

import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_ir as ir

X = np.ones(3, np.float32)


def loss(w, n=0):
    return w


ERRORS = {
    "not a scalar": (
        lambda t: ad.grad(loss)(X),
        TypeError,
        "grad requires a scalar-output function, but loss returned an array of shape",
    ),
    "a tree": (lambda t: ad.grad(lambda x: (x, x))(1.0), TypeError, "returned the tree"),
    "a list of one": (lambda t: ad.grad(lambda x: [x])(1.0), TypeError, "returned the tree"),
    "no result": (lambda t: ad.grad(lambda x: None)(1.0), TypeError, "returned the tree"),
    "a string": (lambda t: ad.grad(lambda x: "a")(1.0), TypeError, "returned 'a', of type str"),
    "int argument": (
        lambda t: ad.grad(loss)({"k": [3]}),
        TypeError,
        r"argument w\['k'\]\[0\] has dtype int32.*allow_int=True",
    ),
    "later int argument": (
        lambda t: ad.grad(loss, argnums=1)(1.0, 3),
        TypeError,
        "argument n has dtype int32",
    ),
    "string argument": (lambda t: ad.grad(loss)("a"), TypeError, "argument w: Value 'a'"),
    "argnums out of range": (
        lambda t: ad.grad(loss, argnums=2)(1.0),
        TypeError,
        "Pass the argument by position; arguments passed by",
    ),
    "argnums negative out of range": (
        lambda t: ad.grad(loss, argnums=-2)(1.0),
        ValueError,
        "argnums=-2",
    ),
    "argnums twice": (
        lambda t: ad.grad(lambda x, y: t.mul(x, y), argnums=(0, -2))(1.0, 2.0),
        TypeError,
        r"argnums=\(0, -2\) names an argument twice",
    ),
    "argnums no int": (
        lambda t: ad.grad(loss, argnums="w"),
        TypeError,
        "an integer or a sequence of integers, got 'w'",
    ),
    "no pair": (
        lambda t: ad.grad(loss, has_aux=True)(1.0),
        TypeError,
        r"loss must return a pair \(output, aux\)",
    ),
    "a triple": (
        lambda t: ad.grad(lambda x: (x, 1, 2), has_aux=True)(1.0),
        TypeError,
        "tuple of length 3",
    ),
    "complex": (lambda t: ad.grad(loss)(1j), TypeError, "holomorphic=True"),
    "holomorphic of real": (
        lambda t: ad.grad(loss, holomorphic=True)(1.0),
        TypeError,
        "Convert it to a complex dtype, or drop",
    ),
    "int result": (lambda t: ad.grad(lambda x: 3)(1.0), TypeError, "returned dtype int32"),
    "jvp structure": (
        lambda t: ad.jvp(loss, (1.0,), [(1.0,)]),
        TypeError,
        "jvp: primals and tangents must have the same tree structure, but primals have PyTreeDef",
    ),
    "jvp shape": (
        lambda t: ad.jvp(loss, ({"k": X},), ({"k": X[:2]},)),
        ValueError,
        r"tangent at \[0\]\['k'\].*expected float32\[3\], got float32\[2\]",
    ),
    "jvp dtype": (lambda t: ad.jvp(loss, (1.0,), (1,)), TypeError, "got int32"),
    "jvp of int": (lambda t: ad.jvp(loss, (1,), (1.0,)), TypeError, "expected float0"),
    "jvp of bare values": (lambda t: ad.jvp(loss, 1.0, 1.0), TypeError, "got float"),
    "linearized shape": (lambda t: ad.linearize(loss, 1.0)[1](X), ValueError, r"got float32\[3\]"),
    "linearized structure": (
        lambda t: ad.linearize(loss, 1.0)[1]((1.0,)),
        TypeError,
        "linearize: the tangents must have the tree structure of the primals",
    ),
    "vjp structure": (lambda t: ad.vjp(loss, 1.0)[1]((1.0,)), ValueError, "tree structure"),
    "vjp shape": (
        lambda t: ad.vjp(loss, 1.0)[1](X),
        ValueError,
        r"expected float32\[\], got float32\[3\]",
    ),
    "vjp dtype": (lambda t: ad.vjp(loss, 1.0)[1](1), ValueError, "got int32"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(toy, name):
    call, kind, message = ERRORS[name]
    with pytest.raises(Exception, match=message) as caught:
        call(toy)
    assert caught.type is kind
    assert len(str(caught.value).split("\n")) <= 12
    assert ir.context.trace is ir.eval_trace


def test_a_jvp_accepts_float0_for_an_int(toy):
    zero = np.zeros((), ir.float0)
    value, tangent = ad.jvp(loss, (3,), (zero,))
    assert value == 3 and tangent.dtype == ir.float0


def test_an_error_inside_the_function_restores_the_trace(toy):
    with pytest.raises(ZeroDivisionError):
        ad.grad(lambda x: 1 // 0)(1.0)
    assert ir.context.trace is ir.eval_trace
    assert ad.grad(toy.sin)(0.0) == 1.0


def test_a_tracer_leaked_from_a_derivative_raises(toy):
    leaked = []
    ad.grad(lambda x: leaked.append(x) or x)(1.0)
    with pytest.raises(ir.UnexpectedTracerError):
        ir.make_jaxpr(lambda y: toy.mul(y, leaked[0]))(1.0)


@pytest.mark.parametrize("number", [float, complex, lambda x: x.tolist()])
@pytest.mark.parametrize(
    "transform",
    [ad.grad, lambda f: lambda x: ad.jvp(f, (x,), (x,)), lambda f: lambda x: ad.vjp(f, x)],
)
def test_converting_a_differentiated_number_raises(toy, number, transform):
    with pytest.raises(ir.ConcretizationTypeError, match="stop_gradient"):
        transform(lambda x: toy.mul(x, number(toy.sin(x))))(1.0)
    assert ir.context.trace is ir.eval_trace


def test_branching_on_a_differentiated_value(toy):
    assert ad.grad(lambda x: toy.neg(x) if x else x)(0.0) == 1.0
    assert ad.grad(lambda x: toy.mul(x, [2.0, 3.0][int(x)]))(1.0) == 3.0
    assert ad.grad(lambda x: toy.mul(x, toy.neg(x).item()))(1.0) == -1.0

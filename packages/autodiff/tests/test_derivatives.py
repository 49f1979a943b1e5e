"""Laws of derivatives on toy primitives: forward, reverse and finite differences agree."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_ir as ir

X = np.array([0.3, -1.2, 1.7], np.float32)
T = np.array([1.0, 0.5, -2.0], np.float32)
W = np.array([0.7, -0.1, 0.4], np.float32)

FUNCTIONS = {
    "sin": lambda t, x: t.sin(x),
    "square": lambda t, x: t.mul(x, x),
    "composed": lambda t, x: t.mul(t.exp(t.sin(x)), t.cos(x)),
    "constant factor": lambda t, x: t.mul(x, W),
    "identity": lambda t, x: x,
    "through floor": lambda t, x: t.add(t.floor(x), x),
    "several results": lambda t, x: t.mul(*t.swap(t.sin(x), x)),
    "one of several results": lambda t, x: t.swap(t.sin(x), t.mul(x, x))[0],
    "jit": lambda t, x: t.jit(lambda y: t.mul(t.sin(y), y))(x),
    "jit in jit": lambda t, x: t.jit(lambda y: t.jit(t.sin)(t.mul(y, y)))(x),
    "jit that uses a tracer": lambda t, x: t.add(t.jit(lambda y: t.mul(y, y))(x), x),
}


@pytest.fixture(params=FUNCTIONS)
def fun(toy, request):
    return lambda x: FUNCTIONS[request.param](toy, x)


def close(x, y, tolerance=1e-5):
    np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def test_jvp_is_the_directional_derivative(fun):
    value, tangent = ad.jvp(fun, (X,), (T,))
    close(value, fun(X))
    eps = 1e-2
    close(tangent, (fun(X + eps * T) - fun(X - eps * T)) / (2 * eps), 2e-3)


def test_linearize_is_jvp(fun):
    value, f_jvp = ad.linearize(fun, X)
    close(value, fun(X))
    for direction in (T, W):
        close(f_jvp(direction), ad.jvp(fun, (X,), (direction,))[1])


def test_vjp_is_the_transpose_of_jvp(fun):
    value, f_vjp = ad.vjp(fun, X)
    close(value, fun(X))
    close(np.dot(f_vjp(W)[0], T), np.dot(W, ad.jvp(fun, (X,), (T,))[1]))


def test_grad_is_vjp_of_one(toy, fun):
    value, gradient = ad.value_and_grad(lambda x: toy.total(fun(x)))(X)
    close(value, np.sum(fun(X)))
    close(gradient, ad.vjp(fun, X)[1](np.ones(3, np.float32))[0])


def test_second_derivatives_agree_in_every_order(toy, fun):
    loss = lambda x: toy.total(fun(x))
    forward_over_reverse = ad.jvp(ad.grad(loss), (X,), (T,))[1]
    reverse_over_reverse = ad.grad(lambda x: toy.total(toy.mul(ad.grad(loss)(x), T)))(X)
    reverse_over_forward = ad.grad(lambda x: ad.jvp(loss, (x,), (T,))[1])(X)
    close(forward_over_reverse, reverse_over_reverse)
    close(forward_over_reverse, reverse_over_forward)


def test_traced_and_eager_gradients_agree(toy, fun):
    grad = ad.grad(lambda x: toy.total(fun(x)))
    jaxpr = ir.make_jaxpr(grad)(X)
    ir.check_jaxpr(jaxpr)
    close(ir.jaxpr_as_fun(jaxpr, X)[0], grad(X))


def test_jaxpr_transforms_are_the_functions(fun):
    jaxpr = ir.make_jaxpr(fun)(X)
    forward, nonzeros = ad.jvp_jaxpr(jaxpr, [True])
    assert nonzeros == [True]
    ir.check_jaxpr(forward)
    close(ir.jaxpr_as_fun(forward, X, T)[1], ad.jvp(fun, (X,), (T,))[1])
    split = ad.linearize_jaxpr(jaxpr, [True])
    ir.check_jaxpr(split.forward)
    ir.check_jaxpr(split.tangent)
    outputs = ir.jaxpr_as_fun(split.forward, X)
    values = [X, *outputs]
    residuals = [values[i] for i in split.residuals]
    close(ir.jaxpr_as_fun(split.tangent, *residuals, T)[0], ad.jvp(fun, (X,), (T,))[1])
    assert ad.jvp_jaxpr(jaxpr, [True])[0] is forward
    assert ad.linearize_jaxpr(jaxpr, [True]) is split


def test_third_derivative_is_exact(toy):
    close(ad.grad(ad.grad(ad.grad(toy.sin)))(0.3), -np.cos(0.3))


def test_gradients_are_pytrees_like_the_arguments(toy):
    def loss(p, y):
        return toy.total(toy.mul(p["w"], toy.mul(p["b"][0], y)))

    gradient = ad.grad(loss)({"w": X, "b": [T]}, W)
    assert sorted(gradient) == ["b", "w"]
    close(gradient["w"], T * W)
    close(gradient["b"][0], X * W)


@pytest.mark.parametrize(
    ("argnums", "expected"),
    [(0, 3.0), (1, 2.0), (-1, 2.0), ((0,), (3.0,)), ((1, 0), (2.0, 3.0)), ([0, -1], (3.0, 2.0))],
)
def test_argnums_selects_the_differentiated_arguments(toy, argnums, expected):
    assert ad.grad(lambda x, y: toy.mul(x, y), argnums=argnums)(2.0, 3.0) == expected


@pytest.mark.parametrize("pair", [tuple, list])
def test_aux_passes_through(toy, pair):
    def fun(x):
        return pair([toy.mul(x, x), {"n": toy.sin(x), "k": 3}])

    assert ad.grad(fun, has_aux=True)(2.0) == (4.0, {"n": np.sin(np.float32(2)), "k": 3})
    (value, aux), gradient = ad.value_and_grad(fun, has_aux=True)(2.0)
    assert (value, aux["k"], gradient) == (4.0, 3, 4.0)


def test_a_constant_function_has_gradient_zero(toy):
    assert ad.grad(lambda x: 1.0)(2.0) == 0.0
    np.testing.assert_array_equal(ad.grad(lambda x: toy.total(W))(X), np.zeros(3))


def test_integer_arguments_have_float0_gradients(toy):
    gradient = ad.grad(lambda n, x: toy.mul(x, x), argnums=(0, 1), allow_int=True)(3, 2.0)
    assert gradient[0].dtype == ir.float0 and gradient[0].shape == ()
    assert gradient[1] == 4.0


def test_grad_of_holomorphic_functions(toy):
    assert ad.grad(lambda z: toy.mul(z, z), holomorphic=True)(np.complex64(1 + 2j)) == 2 + 4j


def test_linear_transpose(toy):
    transposed = ad.linear_transpose(lambda x, y: [toy.mul(x, W), toy.add(x, y)], X, X)
    ct_x, ct_y = transposed([T, X])
    close(ct_x, W * T + X)
    close(ct_y, X)


def test_linearize_jaxpr_saves_only_residuals_that_are_read(toy):
    split = ad.linearize_jaxpr(ir.make_jaxpr(lambda x: toy.mul(toy.sin(x), W))(X), [True])
    assert [eqn.primitive.name for eqn in split.tangent.eqns] == ["mul", "mul"]
    assert len(split.residuals) == 1


GRADIENTS = {
    "mul": (
        lambda t: lambda x: t.mul(x, x),
        "{ lambda ; a:f32[]. let\n"
        "    _:f32[] = mul a a\n"
        "    b:f32[] = mul a 1.0:f32[]\n"
        "    c:f32[] = mul 1.0:f32[] a\n"
        "    d:f32[] = add_any b c\n"
        "  in (d,) }",
    ),
    "sin": (
        lambda t: t.sin,
        "{ lambda ; a:f32[]. let\n"
        "    _:f32[] = sin a\n"
        "    b:f32[] = cos a\n"
        "    c:f32[] = mul 1.0:f32[] b\n"
        "  in (c,) }",
    ),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_traced_gradient_has_the_equations_of_jax(toy, name):
    make, expected = GRADIENTS[name]
    assert ir.make_jaxpr(ad.grad(make(toy)))(2.0).pretty_print(width=60) == expected


def test_unsupported_derivatives_raise_with_their_reason(toy):
    p = toy.primitive("p", lambda x: x, ir.unsupported("p jumps"), ad.not_linear)
    with pytest.raises(NotImplementedError, match="jvp of p: p jumps"):
        ir.make_jaxpr(ad.grad(p.bind))(1.0)
    with pytest.raises(NotImplementedError, match="transpose of 'sin'.*not linear"):
        ad.linear_transpose(toy.sin, 1.0)(1.0)


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f, x: ad.grad(f)(x),
        lambda f, x: ad.vjp(f, x)[1](np.float32(1))[0],
        lambda f, x: ad.linearize(f, x)[1](np.float32(1)),
    ],
    ids=["grad", "vjp", "linearize"],
)
def test_an_override_rewrites_the_functions_that_its_thread_differentiates(toy, derivative):
    backend = ir.backend()

    def slope():
        with ir.use_backend(backend):
            return float(derivative(toy.sin, np.float32(0)))

    with ad.rewrite_differentiated(lambda fun: lambda x: [toy.neg(*fun(x))]):
        with ThreadPoolExecutor() as pool:
            assert (slope(), pool.submit(slope).result()) == (-1.0, 1.0)
    assert slope() == 1.0

"""The examples of the introductory notebook in the specification, with what they print."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import grad, jit, make_jaxpr, pmap, value_and_grad, vmap


def quadratic(x):
    return 2 * x * x + 3 * x + 3


def extremes(x):
    return jnp.array([jnp.min(x), jnp.max(x)])


def sigmoid(x):
    return 0.5 * (jnp.tanh(x / 2.0) + 1)


def test_dot_defaults_to_ones():
    @jit
    def dot(x=None):
        if not isinstance(x, jnp.ndarray):
            x = jnp.ones((100, 100), dtype=jnp.float32)
        return jnp.dot(x, x.T)

    assert dot().block_until_ready()[0, 0] == 100
    assert jit(dot, backend="cpu")().shape == (100, 100)


def test_trace_of_a_quadratic():
    assert str(make_jaxpr(quadratic)(3)) == (
        "{ lambda ; a:i32[]. let\n"
        "    b:i32[] = mul 2:i32[] a\n"
        "    c:i32[] = mul b a\n"
        "    d:i32[] = mul 3:i32[] a\n"
        "    e:i32[] = add c d\n"
        "    f:i32[] = add e 3:i32[]\n"
        "  in (f,) }"
    )


def test_gradient_of_a_quadratic():
    assert repr(grad(quadratic)(3.0)) == "Array(15., dtype=float32, weak_type=True)"
    value, gradient = value_and_grad(quadratic)(3.0)
    assert (repr(value), repr(gradient)) == (
        "Array(30., dtype=float32, weak_type=True)",
        "Array(15., dtype=float32, weak_type=True)",
    )


def test_trace_of_a_gradient():
    assert str(make_jaxpr(grad(quadratic))(3.0)) == (
        "{ lambda ; a:f32[]. let\n"
        "    b:f32[] = mul 2.0:f32[] a\n"
        "    c:f32[] = mul b a\n"
        "    d:f32[] = mul 3.0:f32[] a\n"
        "    e:f32[] = add c d\n"
        "    _:f32[] = add e 3.0:f32[]\n"
        "    f:f32[] = mul 3.0:f32[] 1.0:f32[]\n"
        "    g:f32[] = mul b 1.0:f32[]\n"
        "    h:f32[] = add_any f g\n"
        "    i:f32[] = mul 1.0:f32[] a\n"
        "    j:f32[] = mul 2.0:f32[] i\n"
        "    k:f32[] = add_any h j\n"
        "  in (k,) }"
    )


def test_jit():
    assert repr(jit(quadratic)(3)) == "Array(30, dtype=int32, weak_type=True)"
    assert "name=quadratic" in str(make_jaxpr(jit(quadratic))(3))


def test_partial_derivatives():
    def ff(x, y):
        return x**2 + y

    value, gx = value_and_grad(ff)(2.0, 3.0)
    assert (str(value), str(gx), str(grad(ff, argnums=1)(2.0, 3.0))) == ("7.0", "4.0", "1.0")


def test_branch_on_a_traced_value_is_refused():
    def f3(x):
        if x > 0:
            return x
        return 2 * x

    with pytest.raises(ricci.errors.ConcretizationTypeError):
        jit(f3)(3.0)


def test_prediction_of_one_and_of_a_batch():
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=2), rng.normal(size=(3, 2))

    def predict_single(row):
        return sigmoid(jnp.dot(w, row))

    with pytest.raises(TypeError):
        predict_single(x)
    expected = 1 / (1 + np.exp(-x @ w))
    np.testing.assert_allclose(sigmoid(jnp.dot(x, w)), expected, rtol=1e-5)
    np.testing.assert_allclose(vmap(predict_single)(x), expected, rtol=1e-5)


def test_vmap_over_the_leading_axis():
    x = np.arange(6).reshape(2, 3)
    batch = np.arange(24).reshape(4, 2, 3)
    assert repr(extremes(x)) == "Array([0, 5], dtype=int32)"
    assert repr(extremes(batch)) == "Array([ 0, 23], dtype=int32)"
    expected = [[0, 5], [6, 11], [12, 17], [18, 23]]
    np.testing.assert_array_equal(vmap(extremes)(batch), expected)
    np.testing.assert_array_equal(jit(vmap(extremes))(batch), expected)


def test_vmap_with_in_axes():
    f = vmap(lambda a, b, c: a + b + c, in_axes=(0, None, 1))
    a, c = np.arange(6).reshape(2, 3) + 10, np.arange(6).reshape(3, 2) + 20
    assert repr(f(a, 2, c)) == "Array([[32, 35, 38],\n       [36, 39, 42]], dtype=int32)"
    assert str(make_jaxpr(f)(a, 2, c)) == (
        "{ lambda ; a:i32[2,3] b:i32[] c:i32[3,2]. let\n"
        "    d:i32[] = convert_element_type[new_dtype=int32 weak_type=False] b\n"
        "    e:i32[2,3] = add a d\n"
        "    f:i32[2,3] = transpose[permutation=(1, 0)] c\n"
        "    g:i32[2,3] = add e f\n"
        "  in (g,) }"
    )


def test_pmap(eight_devices):
    rng = np.random.default_rng(1)
    a, c = rng.random((8, 3)), rng.random((8, 3))
    y = pmap(lambda a, b, c: a + b + c, in_axes=(0, None, 0))(a, 4, c)
    np.testing.assert_allclose(y, a + 4 + c, rtol=1e-6)
    assert len(y.addressable_shards) == len(eight_devices)


def test_pmap_of_vmap(eight_devices):
    rng = np.random.default_rng(2)
    a, b, c = rng.random((8, 5, 2, 3)), rng.random((8, 5, 3, 4)), rng.random((8, 5, 2, 4))
    y = pmap(vmap(lambda a, b, c: a @ b + c))(a, b, c)
    np.testing.assert_allclose(y, a @ b + c, rtol=1e-5)
    assert len(y.sharding.device_set) == len(eight_devices)


def test_random_numbers_of_the_original_mode(capsys):
    with ricci.threefry_partitionable(False):
        key = ricci.random.PRNGKey(1337)
        print(ricci.random.uniform(key))
        print(ricci.random.uniform(key))
        for _ in range(10):
            key, subkey = ricci.random.split(key)
            print(ricci.random.uniform(subkey))
    assert (
        capsys.readouterr().out.split()
        == (
            "0.02251327 0.02251327 0.31418657 0.8795924 0.81679654 0.82754505 0.78958607 0.9006636 "
            "0.18430483 0.2509787 0.5041659 0.11195123"
        ).split()
    )


def test_arrays_cannot_be_assigned_to():
    a = jnp.zeros((3, 3), dtype=np.float32)
    with pytest.raises(TypeError, match="immutable"):
        a[1, :] = 1.0

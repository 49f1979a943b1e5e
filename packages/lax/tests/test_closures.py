"""``closure_convert``, ``custom_gradient``, ``linear_call`` and what goes with custom rules."""

from typing import Any

import numpy as np
import pytest

from ricci_autodiff import SymbolicZero, grad, jvp, linear_transpose, vjp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, check_jaxpr, float0, get_aval, make_jaxpr, trace_to_jaxpr
from ricci_lax import (
    CustomVJPPrimal,
    add,
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    custom_vjp_primal_tree_values,
    hessian,
    linear_call,
    linear_call_p,
    mul,
    reduce_sum,
    sin,
    slice_in_dim,
    zero_from_primal,
)
from ricci_lax.staged_calls._staged_call import jit_p


def f32(values):
    return np.array(values, np.float32)


X = f32([1.0, 2.0])
Y = f32([3.0, 5.0])
NO_FUNCTION: Any = 3
M = f32([[1.0, 2.0], [3.0, -1.0], [0.5, 4.0]])


def of(*shape, dtype="float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def total(x):
    return reduce_sum(x, tuple(range(len(x.shape))))


# closure_convert


def consts_under(transform, *args):
    """Count the arrays that are hoisted while a function of one array is transformed."""
    counts = []

    def f(x):
        converted, consts = closure_convert(lambda t: mul(t, x), X)
        counts.append(len(consts))
        return total(converted(X, *consts))

    make_jaxpr(transform(f))(*args)
    return counts[0]


@pytest.mark.parametrize(
    ("transform", "shape", "count"),
    [
        (lambda f: f, (2,), 1),
        (grad, (2,), 1),
        (lambda f: lambda x: jvp(f, (x,), (x,)), (2,), 1),
        (lambda f: vmap(grad(f)), (3, 2), 1),
        (lambda f: lambda x: vmap(f)(M), (2,), 0),
        (lambda f: lambda x: f(X), (2,), 0),
    ],
    ids=["staged", "grad", "jvp", "vmap of grad", "vmap of an array", "concrete"],
)
def test_constants_that_may_be_differentiated_are_hoisted(transform, shape, count):
    assert consts_under(transform, of(*shape)) == count


def test_integers_stay_closed_over():
    def f(n):
        converted, consts = closure_convert(lambda t: add(t, n), np.int32(1))
        assert consts == []
        return converted(np.int32(2))

    check_jaxpr(make_jaxpr(f)(of(dtype="int32")))


@pytest.mark.usefixtures("backend")
def test_a_converted_closure_can_be_given_to_a_custom_vjp():
    def doubled_gradient(f, x):
        converted, consts = closure_convert(f, x)
        return _apply(converted, x, tuple(consts))

    f = lambda a, x: total(doubled_gradient(lambda t: mul(sin(t), a), x))
    by_a, by_x = grad(f, (0, 1))(X, Y)
    np.testing.assert_allclose(by_a, 2 * np.sin(Y), rtol=1e-6)
    np.testing.assert_allclose(by_x, 2 * X * np.cos(Y), rtol=1e-6)


def _double(ct):
    return mul(ct, 2.0)


def _apply(f, x, consts):
    apply = custom_vjp(lambda x, consts: f(x, *consts))

    def bwd(residuals, ct):
        x, consts = residuals
        return vjp(lambda x, consts: f(x, *consts), x, consts)[1](_double(ct))

    apply.defvjp(lambda x, consts: (f(x, *consts), (x, consts)), bwd)
    return apply(x, consts)


def test_results_are_pytrees():
    converted, consts = closure_convert(lambda t, u: {"a": t, "b": (u["k"],)}, of(2), {"k": of(3)})
    _, shapes = make_jaxpr(lambda t, u: converted(t, u, *consts), return_shape=True)(
        of(2), {"k": of(3)}
    )
    assert (shapes["a"].shape, shapes["b"][0].shape) == ((2,), (3,))


@pytest.mark.parametrize(
    ("call", "error", "mentions"),
    [
        (lambda: closure_convert(lambda t: t, X)[0]((X, X)), TypeError, "structure of the"),
        (lambda: closure_convert(lambda t: t, X)[0](X, X), TypeError, "structure of the"),
        (lambda: closure_convert(lambda t: t, {"k": "a"}), TypeError, r"\['k'\]"),
        (lambda: closure_convert(NO_FUNCTION, X), TypeError, "needs a function"),
    ],
    ids=["structure", "count", "example", "function"],
)
def test_mistakes_of_closure_convert_are_explained(call, error, mentions):
    with pytest.raises(error, match=mentions):
        call()


# custom_gradient


@custom_gradient
def scaled_square(x):
    return mul(x, x), lambda ct: mul(ct, mul(x, 10.0))


@custom_gradient
def product(x, y):
    return mul(x, y), lambda ct: (mul(ct, mul(y, 2.0)), mul(ct, mul(x, 3.0)))


@custom_gradient
def in_dict(x):
    return {"a": mul(x["k"], 2.0)}, lambda ct: ({"k": mul(ct["a"], 7.0)},)


@pytest.mark.usefixtures("backend")
class TestCustomGradient:
    def test_value_and_gradient(self):
        np.testing.assert_allclose(scaled_square(X), X * X)
        np.testing.assert_allclose(grad(lambda x: total(scaled_square(x)))(X), 10 * X)

    def test_several_arguments(self):
        found = grad(lambda x, y: total(product(x, y)), (0, 1))(X, Y)
        np.testing.assert_allclose(found, (2 * Y, 3 * X))

    def test_pytrees(self):
        found = grad(lambda x: total(in_dict(x)["a"]))({"k": X})
        np.testing.assert_allclose(found["k"], [7.0, 7.0])

    def test_the_rule_can_be_differentiated(self):
        np.testing.assert_allclose(grad(grad(scaled_square))(3.0), 10.0)

    def test_vmap(self):
        found = vmap(grad(lambda x, y: total(product(x, y)), (0, 1)), (0, None))(M, Y)
        np.testing.assert_allclose(found[0], np.broadcast_to(2 * Y, M.shape))
        np.testing.assert_allclose(found[1], 3 * M)

    def test_inside_a_call(self):
        program = trace_to_jaxpr(lambda x: [scaled_square(sin(x))], [get_aval(X)])
        call = lambda x: total(jit_p.bind(x, jaxpr=program, name="call")[0])
        np.testing.assert_allclose(grad(call)(X), 10 * np.sin(X) * np.cos(X), rtol=1e-6)

    def test_logs_are_dropped(self):
        f = custom_gradient(
            lambda x: (mul(x, x), lambda ct: ((mul(ct, 5.0),), {"ct": ct})), with_logs=True
        )
        np.testing.assert_allclose(grad(f)(3.0), 5.0)

    def test_as_a_decorator_with_arguments(self):
        f = custom_gradient()(lambda x: (mul(x, x), lambda ct: mul(ct, 4.0)))
        np.testing.assert_allclose(grad(f)(3.0), 4.0)


def test_custom_gradient_is_a_custom_vjp_of_the_function_s_name():
    (eqn,) = make_jaxpr(scaled_square)(of(2)).eqns
    assert (eqn.primitive.name, eqn.params["name"]) == ("custom_vjp_call", "scaled_square")


GRADIENT_MISTAKES = {
    "no pair": (lambda x: mul(x, x), {}, TypeError, "pair \\(value, rule\\)"),
    "no rule": (lambda x: (mul(x, x), 3), {}, TypeError, "must return a function"),
    "too many cotangents": (lambda x: (x, lambda ct: (ct, ct)), {}, TypeError, "one cotangent"),
    "another structure": (lambda x: (x, lambda ct: {"k": ct}), {}, TypeError, "tuple"),
    "another shape": (lambda x: (x, lambda ct: X), {}, ValueError, r"float32\[2\]"),
    "logs that are no dict": (
        lambda x: (x, lambda ct: (ct, 4.0)),
        {"with_logs": True},
        TypeError,
        "None or a dict",
    ),
    "no logs": (lambda x: (x, lambda ct: ct), {"with_logs": True}, TypeError, "logs"),
}


@pytest.mark.parametrize(
    ("fun", "options", "error", "mentions"), GRADIENT_MISTAKES.values(), ids=GRADIENT_MISTAKES
)
def test_mistakes_of_custom_gradient_are_explained(fun, options, error, mentions):
    with pytest.raises(error, match=mentions):
        make_jaxpr(grad(custom_gradient(fun, **options)))(of())


# linear_call


def scaled(r, x):
    """``r * x``, with a transpose that shows: ten times too large."""
    return linear_call(lambda r, x: mul(r, x), lambda r, ct: mul(mul(r, ct), 10.0), r, x)


def closing(r, x):
    return linear_call(lambda _, x: mul(r, x), lambda _, ct: mul(mul(r, ct), 10.0), (), x)


LINEAR = pytest.mark.parametrize("f", [scaled, closing], ids=["residual", "closure"])


@pytest.mark.usefixtures("backend")
class TestLinearCall:
    @LINEAR
    def test_value_tangent_and_transpose(self, f):
        np.testing.assert_allclose(f(X, Y), X * Y)
        np.testing.assert_allclose(jvp(lambda x: f(X, x), (Y,), (M[1],))[1], X * M[1])
        np.testing.assert_allclose(linear_transpose(lambda x: f(X, x), Y)(M[1])[0], 10 * X * M[1])

    @LINEAR
    def test_the_transpose_of_the_transpose_is_the_function(self, f):
        transposed = lambda ct: linear_transpose(lambda x: f(X, x), Y)(ct)[0]
        np.testing.assert_allclose(linear_transpose(transposed, Y)(M[1])[0], X * M[1])

    @LINEAR
    def test_gradient_uses_the_transpose(self, f):
        np.testing.assert_allclose(grad(lambda x: total(f(X, x)))(Y), 10 * X)

    @LINEAR
    def test_second_order(self, f):
        square = lambda x: total(mul(f(X, x), f(X, x)))
        np.testing.assert_allclose(hessian(square)(Y), np.diag(20 * X * X))

    @pytest.mark.parametrize("in_axes", [(0, 0), (None, 0), (0, None), (1, 1)])
    def test_vmap(self, in_axes):
        r, x = (Y if d is None else np.moveaxis(M, 0, d) for d in in_axes)
        found = vmap(scaled, in_axes)(r, x)
        rows = [np.broadcast_to(Y, M.shape) if d is None else M for d in in_axes]
        np.testing.assert_allclose(found, rows[0] * rows[1])
        gradient = vmap(grad(lambda x, r: total(scaled(r, x))), in_axes[::-1])(x, r)
        np.testing.assert_allclose(gradient, 10 * rows[0])

    def test_gradient_of_a_batch_by_an_unbatched_argument(self):
        found = grad(lambda x: total(vmap(scaled, (0, None))(M, x)))(Y)
        np.testing.assert_allclose(found, 10 * M.sum(0))

    def test_pytrees(self):
        f = lambda x: linear_call(
            lambda r, x: (mul(x["a"], r[0]), add(x["a"], x["b"])),
            lambda r, ct: {"a": add(mul(ct[0], r[0]), ct[1]), "b": ct[1]},
            (X, 2),
            x,
        )
        found, pull = vjp(f, {"a": Y, "b": X})
        np.testing.assert_allclose(found, (X * Y, X + Y))
        cts = pull((Y, X))[0]
        np.testing.assert_allclose((cts["a"], cts["b"]), (Y * X + X, X))

    def test_inside_a_call(self):
        program = trace_to_jaxpr(lambda x: [scaled(X, sin(x))], [get_aval(Y)])
        call = lambda x: total(jit_p.bind(x, jaxpr=program, name="call")[0])
        np.testing.assert_allclose(grad(call)(Y), 10 * X * np.cos(Y), rtol=1e-6)


def test_constants_come_first_and_residuals_next():
    (eqn,) = make_jaxpr(
        lambda a, r, x: linear_call(
            lambda r, x: mul(mul(r, x), a), lambda r, ct: mul(mul(r, ct), a), r, x
        )
    )(of(2), of(2), of(2)).eqns
    assert eqn.primitive is linear_call_p
    assert (eqn.params["num_callee_consts"], eqn.params["num_res"]) == (1, 1)


def test_the_transpose_is_traced_only_when_it_is_needed():
    def never(r, ct):
        raise AssertionError("not needed")

    make_jaxpr(lambda x: jvp(lambda x: linear_call(mul, never, X, x), (x,), (x,)))(of(2))


LINEAR_MISTAKES = {
    "transpose of another structure": (
        grad(lambda x: total(linear_call(mul, lambda r, ct: (ct, ct), X, x))),
        TypeError,
        "structure of linear_args",
    ),
    "transpose of another shape": (
        grad(lambda x: total(linear_call(mul, lambda r, ct: slice_in_dim(ct, 0, 1), X, x))),
        ValueError,
        r"float32\[1\]",
    ),
    "derivative by residuals": (
        grad(lambda r: total(linear_call(mul, mul, r, X))),
        NotImplementedError,
        "residual_args",
    ),
    "residuals that are no arrays": (
        lambda x: linear_call(mul, mul, {"k": "a"}, x),
        TypeError,
        r"residual_args\['k'\]",
    ),
    "no function": (lambda x: linear_call(NO_FUNCTION, mul, X, x), TypeError, "needs functions"),
}


@pytest.mark.parametrize(
    ("mistake", "error", "mentions"), LINEAR_MISTAKES.values(), ids=LINEAR_MISTAKES
)
def test_mistakes_of_linear_call_are_explained(mistake, error, mentions):
    with pytest.raises(error, match=mentions):
        make_jaxpr(mistake)(of(2))


# Symbolic zeros


def test_zeros_of_a_pytree():
    zeros = zero_from_primal({"a": X, "n": np.array([1, 2], np.int32)}, symbolic_zeros=True)
    assert all(isinstance(z, SymbolicZero) for z in zeros.values())
    assert (zeros["a"].shape, zeros["a"].dtype) == ((2,), np.float32)
    assert zeros["n"].dtype == float0


@pytest.mark.usefixtures("backend")
def test_zeros_as_arrays():
    zeros = zero_from_primal((X, np.int32(1)))
    np.testing.assert_array_equal(zeros[0], np.zeros(2, np.float32))
    assert zeros[1].dtype == float0


def test_values_of_primals():
    tree = {"a": CustomVJPPrimal(3, True), "b": (CustomVJPPrimal(4, False),)}
    assert custom_vjp_primal_tree_values(tree) == {"a": 3, "b": (4,)}


def test_values_of_other_pytrees_are_refused():
    with pytest.raises(TypeError, match="must be CustomVJPPrimal"):
        custom_vjp_primal_tree_values({"a": 3})


def test_symbolic_zeros_compare_by_type():
    zero = SymbolicZero.from_primal_value(X)
    assert zero == zero_from_primal(Y, symbolic_zeros=True)
    assert hash(zero) == hash(SymbolicZero(zero.aval))
    assert zero != SymbolicZero.from_primal_value(M)


@pytest.mark.usefixtures("backend")
def test_rules_for_each_argument_are_added_up():
    f = custom_jvp(lambda x, y, z: mul(mul(x, y), z))
    f.defjvps(lambda t, out, x, y, z: mul(t, 10.0), None, lambda t, out, x, y, z: mul(t, x))
    np.testing.assert_allclose(jvp(f, (2.0, 3.0, 4.0), (1.0, 1.0, 1.0)), (24.0, 12.0))
    np.testing.assert_allclose(grad(f, (0, 1, 2))(2.0, 3.0, 4.0), (10.0, 0.0, 2.0))

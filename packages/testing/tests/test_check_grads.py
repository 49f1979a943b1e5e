"""``check_grads``: right derivatives pass, wrong ones are named."""

import numpy as np
import pytest

import ricci_lax as lax
from ricci_ir import enable_x64, use_backend
from ricci_reference import reference_backend
from ricci_testing import check_grads, check_jvp, check_vjp

X = np.float32([0.3, -0.7, 1.2])


@pytest.fixture(autouse=True)
def _reference():
    with use_backend(reference_backend):
        yield


@pytest.mark.parametrize(
    ("fun", "args"),
    [
        (lax.sin, (X,)),
        (lambda x, y: lax.mul(x, lax.cos(y)), (X, X)),
        (lambda tree: {"out": lax.exp(tree["a"]), "n": tree["n"]}, ({"a": X, "n": np.int32(2)},)),
        (lambda z: lax.real(lax.mul(z, lax.conj(z))), (np.complex64([1 + 2j, -0.5j]),)),
    ],
)
@pytest.mark.parametrize("modes", [("fwd", "rev"), ("fwd",), "rev"])
def test_right_derivatives_pass(fun, args, modes):
    check_grads(fun, args, 2, modes)


def _wrong(order: int):
    """A sine whose derivative is wrong, or only the derivative of that."""

    @lax.custom_jvp
    def cosine(x):
        return lax.cos(x)

    cosine.defjvp(lambda ps, ts: (lax.cos(*ps), lax.mul(ts[0], lax.sin(*ps))))

    @lax.custom_jvp
    def sine(x):
        return lax.sin(x)

    right = cosine if order == 2 else lambda x: lax.mul(x, x)
    sine.defjvp(lambda ps, ts: (sine(*ps), lax.mul(ts[0], right(*ps))))
    return sine


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_a_wrong_derivative_is_named(mode):
    with pytest.raises(AssertionError, match="jvp" if mode == "fwd" else "vjp"):
        check_grads(_wrong(1), (X,), 1, [mode])


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_a_wrong_second_derivative_needs_order_2(mode):
    check_grads(_wrong(2), (X,), 1, [mode])
    with pytest.raises(AssertionError, match=" of "):
        check_grads(_wrong(2), (X,), 2, [mode])


def test_double_precision_is_checked_more_closely():
    off = lambda scale: lambda ps, ts: (lax.sin(*ps), lax.mul(ts[0], lax.mul(lax.cos(*ps), scale)))
    nearly = lax.custom_jvp(lambda x: lax.sin(x))
    nearly.defjvp(off(X.dtype.type(1 + 1e-4)))
    check_grads(nearly, (X,), 1, ["fwd"])
    nearly.defjvp(off(np.float64(1 + 1e-4)))
    with enable_x64(True), pytest.raises(AssertionError, match="tangent of result 0"):
        check_grads(nearly, (X.astype(np.float64),), 1, ["fwd"])


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="modes"):
        check_grads(lax.sin, (X,), 1, ["backward"])


RULES = {
    "right": (lax.cos, None),
    "wrong": (lambda x: lax.mul(lax.cos(x), np.float32(9)), "tangent of result|⟨Jᵀw, v⟩"),
}


@pytest.mark.parametrize("case", RULES)
def test_check_jvp_and_check_vjp_check_a_given_rule(case):
    slope, error = RULES[case]
    push = lambda primals, tangents: (
        {"y": lax.sin(*primals)},
        {"y": lax.mul(slope(*primals), tangents[0])},
    )
    pull = lambda x: ({"y": lax.sin(x)}, lambda ct: (lax.mul(slope(x), ct["y"]),))
    fun = lambda x: {"y": lax.sin(x)}
    for check, rule in ((check_jvp, push), (check_vjp, pull)):
        if error is None:
            check(fun, rule, (X,))
        else:
            with pytest.raises(AssertionError, match=f"mine: .*({error})"):
                check(fun, rule, (X,), err_msg="mine")


def test_a_rule_that_returns_another_value_is_refused():
    with pytest.raises(AssertionError, match="result 0 of the vjp itself"):
        check_vjp(lax.sin, lambda x: (lax.cos(x), lambda ct: (ct,)), (X,))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("modes", ["fwd", "rev"])
@pytest.mark.parametrize("side", [-1, 1])
def test_a_jump_beside_the_point_does_not_fail(dtype, modes, side):
    """A step may cross it: then a shorter one is tried, and a wrong rule fails at both."""
    near = {"float32": 5e-4, "float64": 2e-7}[dtype]
    with enable_x64(dtype == "float64"):
        x = np.asarray([1.0, 1.0], dtype)
        jump = np.asarray(side * near, dtype)

        def stepped(slope):
            passed = lambda x: lax.convert_element_type(lax.ge(x, lax.add(x * 0 + 1, jump)), dtype)

            @lax.custom_jvp
            def f(x):
                return lax.add(lax.mul(x, x), lax.mul(passed(x), x * 0 + 100))

            f.defjvp(lambda xs, ts: (f(*xs), lax.mul(slope * xs[0], ts[0])))
            return f

        check_grads(stepped(np.asarray(2, dtype)), (x,), 1, modes)
        with pytest.raises(AssertionError, match="tangent of result|⟨Jᵀw, v⟩"):
            check_grads(stepped(np.asarray(9, dtype)), (x,), 1, modes)

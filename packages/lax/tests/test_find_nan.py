"""``find_nan``: each case names the operation and the line that the NaN comes from."""

import inspect

import numpy as np
import pytest

from ricci_autodiff import grad, jvp, value_and_grad
from ricci_batching import vmap
from ricci_ir import context, eval_trace, make_jaxpr
from ricci_lax import (
    add,
    asin,
    bitwise_not,
    checkpoint,
    cond,
    custom_vjp,
    div,
    dot,
    eq,
    exp,
    find_nan,
    full_like,
    gt,
    integer_pow,
    log,
    lt,
    mul,
    neg,
    platform_dependent,
    pure_callback,
    reduce_sum,
    scan,
    select,
    slice_in_dim,
    sqrt,
    sub,
    tanh,
    while_loop,
)

pytestmark = pytest.mark.usefixtures("backend")


def f32(*values):
    return np.array(values, np.float32)


def total(x):
    return reduce_sum(x, tuple(range(np.ndim(x))))


def line_of(fun, text):
    lines, start = inspect.getsourcelines(fun)
    (found,) = [start + i for i, line in enumerate(lines) if i and text in line]
    return found


# Functions; the reported operation is in the line that the case names.


def log_of_difference(x):
    y = sub(x, 3.0)
    return mul(log(y), 2.0)


def masked_log(x):
    return total(select(gt(x, 0.0), log(x), full_like(x, 0)))


def masked_sqrt(x):
    y = sqrt(x)
    return total(select(eq(x, 0.0), full_like(x, 0), y))


def masked_quotient(x):
    y = div(1.0, x)
    return total(select(gt(x, 0.0), y, full_like(x, 0)))


def masked_product(x):
    y = log(x)
    terms = mul(x, y)
    return total(select(gt(x, 0.0), terms, full_like(x, 0)))


def masked_exp(x):
    y = exp(mul(x, x))
    return total(select(gt(x, 10.0), x, y))


def masked_asin(x):
    y = asin(x)
    return total(select(eq(x, 1.0), full_like(x, 0), y))


def norm(x):
    squares = mul(x, x)
    return sqrt(total(squares))


def overflow(x):
    y = exp(x)
    return sub(y, y)


def scanned(xs):
    def body(carry, x):
        y = div(x, x)
        return carry, y

    return scan(body, 0.0, xs)[1]


def scanned_product(xs):
    def body(carry, x):
        y = sqrt(x)
        return mul(carry, y), None

    return scan(body, 1.0, xs)[0]


def normalized(x):
    scale = total(x)
    return div(x, scale)


def looped(x):
    def body(state):
        i, y = state
        zero = lambda y: sub(y, y)
        y = cond(eq(i, 2), lambda y: div(zero(y), zero(y)), lambda y: mul(y, 2.0), y)
        return add(i, 1), y

    return while_loop(lambda state: lt(state[0], 5), body, (0, x))[1]


@custom_vjp
def identity(x):
    return x


def identity_fwd(x):
    return x, x


def identity_bwd(x, ct):
    scaled = mul(ct, sub(x, x))
    return (div(scaled, x),)


identity.defvjp(identity_fwd, identity_bwd)


def uses_identity(x):
    return mul(identity(x), 2.0)


def kept_in_loop(x):
    """Without a stop the loop would not end."""
    return while_loop(lambda y: bitwise_not(gt(y, 10.0)), lambda y: div(sub(y, y), sub(y, y)), x)


ROWS = np.array([[1, 2], [3, 4], [0, 0]], np.float32)
CASES = [
    # the function to call, what holds the line, its text, arguments, the operation
    (log_of_difference, log_of_difference, "log(y)", (1.0,), "log"),
    (grad(masked_log), masked_log, "log(x)", (f32(1, 0, 2),), "div"),
    (grad(masked_sqrt), masked_sqrt, "sqrt(x)", (f32(1, 0, 2),), "mul"),
    (grad(masked_quotient), masked_quotient, "div(1.0", (f32(1, 0, 2),), "mul"),
    (grad(masked_product), masked_product, "mul(", (f32(1, 0, 2),), "mul"),
    (grad(masked_exp), masked_exp, "exp(", (f32(1, 20),), "mul"),
    (grad(masked_asin), masked_asin, "asin(", (f32(1, 0),), "mul"),
    (grad(norm), norm, "mul(x, x)", (f32(0, 0),), "mul"),
    (overflow, overflow, "sub(y", (f32(1, 100),), "sub"),
    (scanned, scanned, "div(", (f32(3, 2, 1, 0, 1),), "div"),
    (grad(scanned_product), scanned_product, "sqrt(", (f32(1, 0, 2, 0),), "mul"),
    (vmap(normalized), normalized, "div(", (ROWS,), "div"),
    (looped, looped, "cond(", (1.0,), "div"),
    (grad(uses_identity), identity_bwd, "div(", (0.0,), "div"),
    (grad(checkpoint(masked_log)), masked_log, "log(x)", (f32(1, 0),), "div"),
    (kept_in_loop, kept_in_loop, "div(", (1.0,), "div"),
]


@pytest.mark.parametrize(
    ("fun", "holder", "text", "args", "operation"),
    CASES,
    ids=[f"{c[1].__name__}-{i}" for i, c in enumerate(CASES)],
)
def test_operation_and_line(fun, holder, text, args, operation):
    found = find_nan(fun, *args)
    holder = inspect.unwrap(holder)
    assert (found.operation, found.line) == (operation, line_of(holder, text))
    assert found.file == __file__
    assert text in found.source_text
    assert len(str(found).splitlines()) <= 12


@pytest.mark.parametrize(
    ("fun", "args"),
    [
        (log_of_difference, (4.0,)),
        (grad(masked_log), (f32(1, 2),)),
        (masked_log, (f32(-1, 0),)),  # the NaN is left out of the result
        (lambda x: select(gt(x, 0.0), log(x), x), (f32(-1, 2),)),
        (exp, (1000.0,)),
        (vmap(scanned), (ROWS[:2],)),
    ],
)
def test_nothing_where_results_are_finite(fun, args):
    assert find_nan(fun, *args) is None


@pytest.mark.parametrize(
    ("fun", "args", "operation"),
    [(exp, (1000.0,), "exp"), (grad(lambda x: total(sqrt(x))), (f32(1, 0),), "div")],
)
def test_infinities_when_asked(fun, args, operation):
    assert find_nan(fun, *args) is None
    found = find_nan(fun, *args, inf=True)
    assert (found.kind, found.operation) == ("inf", operation)


@pytest.mark.parametrize(
    ("fun", "args", "operation", "text", "index"),
    [
        (masked_log, (f32(1, 0, 2),), "log", "log(x)", (1,)),
        (masked_sqrt, (f32(1, 0, 2),), "sqrt", "sqrt(x)", (1,)),
        (masked_quotient, (f32(1, 0, 2),), "div", "div(1.0", (1,)),
        (masked_product, (f32(1, 0, 2),), "log", "log(x)", (1,)),
        (masked_exp, (f32(1, 20),), "exp", "exp(", (1,)),
        (masked_asin, (f32(1, 0),), "asin", "asin(", (0,)),
        (norm, (f32(0, 0),), "sqrt", "sqrt(", ()),
        (scanned_product, (f32(1, 0, 2, 0),), "sqrt", "sqrt(", ()),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_forward_value_of_a_backward_pass(fun, args, operation, text, index):
    found = find_nan(grad(fun), *args)
    assert found.backward
    forward = found.forward
    assert (forward.operation, forward.source.line) == (operation, line_of(fun, text))
    assert forward.index == index
    assert (forward.masked_at is None) == ("select(" not in inspect.getsource(fun))


@pytest.mark.parametrize(
    ("fun", "args", "remedy"),
    [
        (masked_log, (f32(0, 1),), "log(select(gt(x, 0.0), x, 1.0))\n    in place of log(x)"),
        (masked_sqrt, (f32(0, 1),), "sqrt(select(eq(x, 0.0), 1.0, x))\n    in place of sqrt(x)"),
        (masked_quotient, (f32(0, 1),), "div(1.0, select(gt(x, 0.0), x, 1.0))"),
        (norm, (f32(0, 0),), "jnp.where(a == 0, 0.0, sqrt(jnp.where(a == 0, 1.0, a)))"),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_remedy_is_spelled_out(fun, args, remedy):
    assert remedy in str(find_nan(grad(fun), *args))


def by_platform(x):
    return platform_dependent(x, cpu=lambda x: log(sub(x, 1.0)), default=log)


@pytest.mark.parametrize(
    ("fun", "args", "path", "examples"),
    [
        (scanned, (f32(3, 2, 1, 0, 1),), ("iteration 3 of scan",), ()),
        (grad(scanned_product), (f32(1, 0, 2, 0),), ("iteration 3 of scan",), ()),
        (looped, (1.0,), ("iteration 2 of while_loop", "branch 1 of cond"), ()),
        (by_platform, (f32(0),), (), ()),  # only the platform's function is called
        (
            checkpoint(by_platform),
            (f32(0),),
            ("checkpoint", "branch cpu of platform_dependent"),
            (),
        ),
        (vmap(normalized), (ROWS,), (), ((2, 3),)),
        (vmap(normalized, in_axes=1), (ROWS.T,), (), ((2, 3),)),
        (vmap(vmap(log)), (-ROWS[:, :1] - 1,), (), ((0, 3), (0, 1))),
        (
            vmap(scanned),
            (np.array([[1, 1, 1], [1, 0, 1]], np.float32),),
            ("iteration 1 of scan",),
            ((1, 2),),
        ),
        (grad(checkpoint(masked_log)), (f32(1, 0),), ("checkpoint",), ()),
    ],
)
def test_which_iteration_and_example(fun, args, path, examples):
    found = find_nan(fun, *args)
    assert (found.path, found.examples) == (path, examples)


def test_operands_are_reported():
    found = find_nan(lambda x: log(sub(x, 50.0)), np.arange(60, dtype=np.float32))
    assert found.index == (0,)
    assert "log of -50, element [0] of float32[60]" in str(found)


def perceptron(x, down, head):
    h = mul(x, tanh(integer_pow(x, 3)))  # the cube overflows, which tanh takes in
    h = dot(h, down)
    return total(dot(h, head))


@pytest.mark.parametrize("transform", [lambda f: f, value_and_grad], ids=["value", "gradient"])
def test_an_infinity_that_reaches_no_result_is_not_blamed(transform):
    found = find_nan(
        transform(perceptron), f32(1e13, 1e13), np.full((2, 2), 1e30, np.float32), f32(1, -1)
    )
    assert (found.operation, found.cause.operation) == ("dot_general", "dot_general")
    assert found.cause.line == line_of(perceptron, "dot(h, down)")
    assert found.forward is None
    assert not found.doubt
    assert "scale the values down" in str(found)


def test_an_earlier_nan_of_another_element_is_not_blamed():
    def fun(x):
        y = log(x)
        kept = add(slice_in_dim(y, 1, 2), slice_in_dim(x, 1, 2))
        return sqrt(sub(kept, 100.0))

    assert find_nan(fun, f32(-1.0, 2.0)).operation == "sqrt"


def test_a_loop_that_would_end_is_not_stopped():
    def body(state):
        i, spare, y = state
        return add(i, 1), log(neg(y)), y  # the spare value is NaN, and reaches nothing

    def fun(y):
        return while_loop(lambda state: lt(state[0], 20), body, (0, y, y))[2]

    assert find_nan(fun, 1.0) is None


def test_a_loop_that_is_stopped_is_in_doubt():
    found = find_nan(kept_in_loop, 1.0)
    assert "a loop did not end" in found.doubt
    assert "not certain: " in str(found)


def test_a_nan_through_a_callback_is_in_doubt():
    def fun(x):
        y = log(x)
        return pure_callback(lambda y: np.asarray(y) * 2, y, y)

    found = find_nan(fun, f32(-1))
    assert (found.operation, bool(found.doubt)) == ("log", True)


def test_an_infinity_is_followed_to_where_it_is_made():
    found = find_nan(overflow, f32(1, 100))
    assert (found.cause.operation, found.cause.line) == ("exp", line_of(overflow, "exp("))
    assert found.index == (1,)


def test_the_example_that_is_selected():
    fun = vmap(lambda i, x: cond(i, log, lambda x: x, x))
    found = find_nan(fun, np.array([False, True]), f32(-1, -2))
    assert found.examples == ((1, 2),)


@pytest.mark.parametrize(
    ("fun", "args", "text"),
    [
        (lambda x: mul(x, 2.0), (f32(1, np.nan),), "nan was given: element [1] of float32[2] of"),
        (lambda x: mul(x, np.float32(np.nan)), (1.0,), "no operation made it"),
        (lambda x: x * float("nan"), (1.0,), "nan is in a result that no operation made"),
    ],
)
def test_nan_from_outside(fun, args, text):
    assert text in str(find_nan(fun, *args))


def test_forward_mode():
    found = find_nan(lambda x: jvp(norm, (x,), (x,)), f32(0, 0))
    assert not found.backward
    assert found.forward.operation == "sqrt"


def test_python_control_flow_on_values():
    def fun(x):
        return log(neg(x)) if gt(x, 0.0) else x

    assert find_nan(fun, np.float32(2.0)).operation == "log"


def test_arguments_by_keyword_and_of_other_types():
    def fun(data, *, mode):
        return {"out": log(data["x"]) if mode == "log" else data["x"]}

    assert find_nan(fun, {"x": f32(-1)}, mode="log").operation == "log"
    assert find_nan(fun, {"x": f32(-1)}, mode="id") is None


def test_errors_of_the_function_come_through():
    def fun(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        find_nan(fun, 1.0)
    assert find_nan(log, 1.0) is None  # and tracing goes on as before


class Counter:
    def __init__(self):
        self.calls, self.last = 0, None

    def __call__(self, x):
        self.calls += 1
        self.last = log(x)
        return self.last


def test_the_users_objects_are_as_before():
    model = Counter()
    assert find_nan(model, -1.0).operation == "log"
    assert find_nan(lambda x: model(x), -1.0).operation == "log"
    assert find_nan(lambda model: model(-1.0), model).operation == "log"
    with pytest.raises(ZeroDivisionError):
        find_nan(lambda x: model(x) * (1 / 0), -1.0)
    assert (model.calls, model.last) == (0, None)


def test_a_nan_that_is_left_in_an_object_is_found():
    def step(model, x):
        model(x)

    assert find_nan(step, Counter(), -1.0).operation == "log"
    assert find_nan(step, Counter(), 1.0) is None


def test_functions_run_as_where_nothing_is_traced():
    def fun(x):
        assert context.trace.main is eval_trace
        return log(x)

    assert find_nan(fun, -1.0).operation == "log"
    assert find_nan(grad(lambda x: x if context.trace.main is eval_trace else log(x)), -1.0) is None


def test_recomputed_operations_keep_their_line():
    jaxpr = make_jaxpr(grad(checkpoint(masked_product)))(f32(1, 2))
    (recomputed,) = [e.params["jaxpr"] for e in jaxpr.eqns if e.primitive.name == "remat2"]
    assert recomputed.eqns
    assert {e.source.function for e in recomputed.eqns} == {"masked_product", "total"}


def test_the_cause_of_a_nan_may_be_an_infinite_argument():
    report = find_nan(lambda x: sub(x, x), np.array([1.0, np.inf], np.float32))
    assert report.operation == "sub"
    assert "the inf there is in element [1] of float32[2] of argument x" in str(report)


def keep_best(best, x):
    """The step of a search that has no best value yet."""
    value = log(x)
    return select(lt(value, np.float32(0)), value, best), reduce_sum(mul(value, value), (0,))


def test_an_operations_nan_comes_before_an_arguments_that_is_returned():
    absent = f32(np.nan, np.nan)
    assert find_nan(keep_best)(absent, f32(0.5, 0.25)) is None
    report = find_nan(keep_best)(absent, f32(2, -1))
    assert (report.operation, report.index) == ("log", (1,))
    report = find_nan(keep_best)(absent, f32(2, 3))
    assert str(report).startswith("nan was given: element [0] of float32[2] of argument best")
    used = find_nan(lambda best, x: (add(best, x), log(x)))(absent, f32(2, -1))
    assert used.operation == "argument"

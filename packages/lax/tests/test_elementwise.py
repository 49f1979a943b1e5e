"""Elementwise primitives: their types, derivatives as programs, batches, lowerings and errors."""

import doctest
from collections import Counter
from functools import partial

import ml_dtypes
import numpy as np
import pytest

import ricci_lax as lax
from ricci_autodiff import jvp, vjp
from ricci_batching import vmap
from ricci_ir import ShapedArray, trace_to_jaxpr
from ricci_lax.elementwise._factories import operands, repeat_to, scalar, sum_to
from ricci_stablehlo import lower_jaxpr

FLOATS = ("float16", "bfloat16", "float32")
INTS = ("int8", "int32", "uint32")
COMPLEX = ("complex64",)
BOOL = ("bool",)
EVERYTHING = BOOL + INTS + FLOATS + COMPLEX

# name: the dtypes it takes, its operation, and the primitives of its derivative, in order.
UNARY = {
    "neg": (INTS + FLOATS + COMPLEX, "stablehlo.negate", "neg neg"),
    "sign": (INTS + FLOATS + COMPLEX, "stablehlo.sign", "sign broadcast_in_dim"),
    "floor": (FLOATS, "stablehlo.floor", "floor broadcast_in_dim"),
    "ceil": (FLOATS, "stablehlo.ceil", "ceil broadcast_in_dim"),
    "round": (FLOATS, "stablehlo.round_nearest_afz", "round broadcast_in_dim"),
    "exp": (FLOATS + COMPLEX, "stablehlo.exponential", "exp mul"),
    "exp2": (FLOATS + COMPLEX, "stablehlo.exponential", "exp2 log mul mul"),
    "expm1": (FLOATS + COMPLEX, "stablehlo.exponential_minus_one", "expm1 exp mul"),
    "log": (FLOATS + COMPLEX, "stablehlo.log", "log div"),
    "log1p": (FLOATS + COMPLEX, "stablehlo.log_plus_one", "log1p add div"),
    "log2": (FLOATS + COMPLEX, "stablehlo.log", "log2 div mul"),
    "tanh": (FLOATS + COMPLEX, "stablehlo.tanh", "tanh one_minus_square mul"),
    "logistic": (FLOATS + COMPLEX, "stablehlo.exponential", "logistic sub mul mul"),
    "sin": (FLOATS + COMPLEX, "stablehlo.sine", "sin cos mul"),
    "cos": (FLOATS + COMPLEX, "stablehlo.cosine", "cos sin mul neg"),
    "tan": (FLOATS + COMPLEX, "stablehlo.tan", "tan square add mul"),
    "asin": (FLOATS + COMPLEX, "chlo.asin", "asin one_minus_square rsqrt mul"),
    "acos": (FLOATS + COMPLEX, "chlo.acos", "acos one_minus_square rsqrt neg mul"),
    "atan": (FLOATS + COMPLEX, "chlo.atan", "atan square add div"),
    "sinh": (FLOATS + COMPLEX, "chlo.sinh", "sinh cosh mul"),
    "cosh": (FLOATS + COMPLEX, "chlo.cosh", "cosh sinh mul"),
    "asinh": (FLOATS + COMPLEX, "chlo.asinh", "asinh square add rsqrt abs max div max mul"),
    "acosh": (FLOATS + COMPLEX, "chlo.acosh", "acosh sub rsqrt add rsqrt mul mul"),
    "atanh": (FLOATS + COMPLEX, "chlo.atanh", "atanh one_minus_square div"),
    "sqrt": (FLOATS + COMPLEX, "stablehlo.sqrt", "sqrt div mul"),
    "rsqrt": (FLOATS + COMPLEX, "stablehlo.rsqrt", "rsqrt mul div mul"),
    "cbrt": (FLOATS, "stablehlo.cbrt", "cbrt integer_pow mul mul"),
    "square": (INTS + FLOATS + COMPLEX, "chlo.square", "square mul mul"),
    "one_minus_square": (INTS + FLOATS + COMPLEX, "stablehlo.subtract", "one_minus_square mul mul"),
    "abs": (("int8", "int32") + FLOATS + COMPLEX, "stablehlo.abs", "abs ge neg select_n"),
    "erf": (FLOATS, "chlo.erf", "erf square neg exp mul mul"),
    "erfc": (FLOATS, "chlo.erfc", "erfc square neg exp mul mul"),
    "erf_inv": (FLOATS, "chlo.erf_inv", "erf_inv square exp mul mul"),
    "lgamma": (FLOATS, "stablehlo.log", "lgamma digamma mul"),
    "digamma": (FLOATS, "chlo.digamma", "digamma polygamma mul"),
    "bessel_i0e": (FLOATS, "stablehlo.sqrt", "bessel_i0e bessel_i1e sign mul sub mul"),
}
DISCRETE = {
    "bitwise_not": (BOOL + INTS, "stablehlo.not"),
    "population_count": (INTS, "stablehlo.popcnt"),
    "clz": (INTS, "stablehlo.count_leading_zeros"),
    "is_finite": (FLOATS, "stablehlo.is_finite"),
    "real": (COMPLEX, "stablehlo.real"),
    "imag": (COMPLEX, "stablehlo.imag"),
    "conj": (("float32",) + COMPLEX, "stablehlo.complex"),
}
ARITHMETIC = INTS + FLOATS + COMPLEX
ORDERED = BOOL + INTS + FLOATS
BINARY = {
    "add": (ARITHMETIC, "stablehlo.add"),
    "sub": (ARITHMETIC, "stablehlo.subtract"),
    "mul": (ARITHMETIC, "stablehlo.multiply"),
    "div": (ARITHMETIC, "stablehlo.divide"),
    "rem": (INTS + FLOATS, "stablehlo.remainder"),
    "max": (EVERYTHING, "stablehlo.maximum"),
    "min": (EVERYTHING, "stablehlo.minimum"),
    "pow": (FLOATS + COMPLEX, "stablehlo.power"),
    "atan2": (FLOATS + COMPLEX, "stablehlo.atan2"),
    "nextafter": (FLOATS, "chlo.next_after"),
    "complex": (("float32",), "stablehlo.complex"),
    "bitwise_and": (BOOL + INTS, "stablehlo.and"),
    "bitwise_or": (BOOL + INTS, "stablehlo.or"),
    "bitwise_xor": (BOOL + INTS, "stablehlo.xor"),
    "shift_left": (INTS, "stablehlo.shift_left"),
    "shift_right_logical": (INTS, "stablehlo.shift_right_logical"),
    "shift_right_arithmetic": (INTS, "stablehlo.shift_right_arithmetic"),
    "mulhi": (INTS, "chlo.mulhi"),
    "eq": (EVERYTHING, "stablehlo.compare EQ,"),
    "ne": (EVERYTHING, "stablehlo.compare NE,"),
    "lt": (ORDERED, "stablehlo.compare LT,"),
    "le": (ORDERED, "stablehlo.compare LE,"),
    "gt": (ORDERED, "stablehlo.compare GT,"),
    "ge": (ORDERED, "stablehlo.compare GE,"),
    "polygamma": (FLOATS, "chlo.polygamma"),
    "zeta": (FLOATS, "chlo.zeta"),
    "igamma": (FLOATS, "stablehlo.while"),
    "igammac": (FLOATS, "stablehlo.while"),
}
RESULTS = {
    "is_finite": lambda d: "bool",
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), lambda d: "bool"),
    **dict.fromkeys(("real", "imag", "abs"), lambda d: "float32" if d == "complex64" else d),
    **dict.fromkeys(("complex", "conj"), lambda d: "complex64"),
}
ONE_OPERAND = {**{k: v[:2] for k, v in UNARY.items()}, **DISCRETE}
SMOOTH_BINARY = ("add", "sub", "mul", "div", "rem", "max", "min", "pow", "atan2", "complex")


def aval(dtype="float32", shape=(3,), weak_type=False):
    return ShapedArray(shape, np.dtype(dtype), weak_type)


def trace(fun, *avals):
    def flat(*xs):
        out = fun(*xs)
        return out if isinstance(out, list | tuple) else [out]

    return trace_to_jaxpr(flat, avals)


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def accepted_cases(table):
    for name, (dtypes, *_) in table.items():
        for dtype in EVERYTHING:
            yield pytest.param(name, dtype, dtype in dtypes, id=f"{name}-{dtype}")


def check_types(name, dtype, accepted, operand_count):
    args = [aval(dtype)] * operand_count
    if not accepted:
        with pytest.raises(TypeError, match="is not defined for dtype"):
            trace(getattr(lax, name), *args)
        return
    (out,) = trace(getattr(lax, name), *args).out_avals
    assert out == aval(RESULTS.get(name, lambda d: d)(dtype))


@pytest.mark.parametrize("name, dtype, accepted", list(accepted_cases(ONE_OPERAND)))
def test_result_type_of_one_operand(name, dtype, accepted):
    check_types(name, dtype, accepted, 1)


@pytest.mark.parametrize("name, dtype, accepted", list(accepted_cases(BINARY)))
def test_result_type_of_two_operands(name, dtype, accepted):
    check_types(name, dtype, accepted, 2)


@pytest.mark.parametrize("name", [*ONE_OPERAND, *BINARY])
def test_result_is_weak_if_all_operands_are(name):
    count = 1 if name in ONE_OPERAND else 2
    dtype = {**ONE_OPERAND, **BINARY}[name][0][-1]
    dtype = "float32" if dtype == "bfloat16" else dtype
    for weak in range(count + 1):
        args = [aval(dtype, (), i < weak) for i in range(count)]
        (out,) = trace(getattr(lax, name), *args).out_avals
        assert out.weak_type == (weak == count)


SHAPES = [((3,), ()), ((), (3,)), ((2, 1), (2, 3)), ((2, 1), (1, 3)), ((1, 1), (2, 3))]


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("shapes", SHAPES)
def test_operands_are_broadcast(name, shapes):
    dtype = BINARY[name][0][-1]
    (out,) = trace(getattr(lax, name), *(aval(dtype, s) for s in shapes)).out_avals
    assert out.shape == np.broadcast_shapes(*shapes)


@pytest.mark.parametrize("name", SMOOTH_BINARY)
@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("position", [0, 1])
def test_derivatives_have_the_shape_of_their_operand(name, shapes, position):
    def tangent_and_cotangent(x, y, t):
        operand = (x, y)[position]

        def one(z):
            return getattr(lax, name)(*((z, y) if position == 0 else (x, z)))

        out, pull_back = vjp(one, operand)
        return jvp(one, (operand,), (t,))[1], *pull_back(out)

    avals = [aval("float32", s) for s in shapes]
    tangent, cotangent = trace(tangent_and_cotangent, *avals, avals[position]).out_avals
    assert tangent.shape == np.broadcast_shapes(*shapes)
    assert cotangent.shape == shapes[position]


@pytest.mark.parametrize("name", UNARY)
def test_program_of_the_derivative(name):
    jaxpr = trace(lambda x, t: jvp(getattr(lax, name), (x,), (t,)), aval(), aval())
    assert " ".join(names(jaxpr)) == UNARY[name][2]


# JAX's derivatives of these have constants that are not weakly typed, unless they are of scalars.
STRONG_DERIVATIVES = set(
    "exp2 log2 tan atan sqrt rsqrt cbrt square erf erfc erf_inv digamma".split()
)


@pytest.mark.parametrize("shape", [(), (3,)], ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_derivative_of_weak_operand_is_as_weak_as_jaxs(name, shape):
    weak = aval("float32", shape, True)
    jaxpr = trace(lambda x, t: jvp(getattr(lax, name), (x,), (t,)), weak, weak)
    result, tangent = jaxpr.out_avals
    assert result.weak_type and tangent.weak_type == (not shape or name not in STRONG_DERIVATIVES)


# Both operands' derivatives; the primitives in order.
OVER_NORM_SQUARED = (
    "abs abs max lt gt broadcast_in_dim broadcast_in_dim select_n broadcast_in_dim select_n"
    " mul square mul square add mul div mul mul"
)
BINARY_DERIVATIVES = {
    "add": "add add",
    "sub": "sub sub",
    "mul": "mul mul mul add_any",
    "div": "div div neg integer_pow mul mul mul add_any",
    "atan2": f"atan2 {OVER_NORM_SQUARED} neg {OVER_NORM_SQUARED} add_any",
    "rem": "rem neg div sign div abs floor mul mul add_any",
    "complex": "complex complex",
}


@pytest.mark.parametrize("name", BINARY_DERIVATIVES)
def test_program_of_the_derivative_by_both_operands(name):
    def fun(x, y, s, t):
        return jvp(getattr(lax, name), (x, y), (s, t))

    found = names(trace(fun, *[aval()] * 4))
    wanted = BINARY_DERIVATIVES[name].split()
    assert Counter(found) == Counter(wanted)
    assert (found[0], found[-1]) == (wanted[0], wanted[-1])


@pytest.mark.parametrize("name", UNARY)
def test_second_derivative_exists(name):
    def second(x):
        def slope(x):
            out, pull_back = vjp(getattr(lax, name), x)
            return pull_back(out)[0]

        return jvp(slope, (x,), (x,))

    assert [a.shape for a in trace(second, aval()).out_avals] == [(3,), (3,)]


# A function linear in its argument, and the primitives of its transpose.
TRANSPOSES = {
    "neg": (lax.neg, "float32", "neg"),
    "real": (lax.real, "complex64", "complex"),
    "imag": (lax.imag, "complex64", "neg complex"),
    "conj": (lax.conj, "complex64", "conj"),
    "conj of real": (lax.conj, "float32", "real"),
    "add": (lambda x: lax.add(x, x), "float32", "add_any"),
    "sub": (lambda x: lax.sub(np.float32(1), x), "float32", "neg"),
    "mul": (lambda x: lax.mul(np.float32(2), x), "float32", "mul"),
    "div": (lambda x: lax.div(x, np.float32(2)), "float32", "div"),
    "complex": (lambda x: lax.complex(x, x), "float32", "real neg imag add_any"),
    "convert": (
        lambda x: lax.convert_element_type(x, "float16"),
        "float32",
        "convert_element_type",
    ),
    "reduce": (lambda x: lax.reduce_precision(x, 5, 3), "float32", "reduce_precision"),
    "clamp": (lambda x: lax.clamp(np.float32(0), x, np.float32(1)), "float32", "select_n"),
}


@pytest.mark.parametrize("case", TRANSPOSES)
def test_program_of_the_transpose(case):
    fun, dtype, wanted = TRANSPOSES[case]
    (out,) = trace(fun, aval(dtype)).out_avals

    def pull_back(x, ct):
        return vjp(fun, x)[1](ct)

    forward = names(trace(lambda x: vjp(fun, x)[0], aval(dtype)))
    found = names(trace(pull_back, aval(dtype), out))
    backward = [name for name in found[len(forward) :] if name != "broadcast_in_dim"]
    assert Counter(backward) >= Counter(wanted.split())
    assert trace(pull_back, aval(dtype), out).out_avals == [aval(dtype)]


def test_equal_operands_of_max_share_the_tangent():
    jaxpr = trace(lambda x, t: jvp(partial(lax.max, np.float32(0)), (x,), (t,)), aval(), aval())
    values = [a.val for e in jaxpr.eqns for a in e.invars if hasattr(a, "val")]
    assert np.float32(0.5) in values


@pytest.mark.parametrize("dim", [0, 1])
def test_a_batch_of_choices_between_two_numbers(dim, backend):
    """One example is refused, since the shapes differ; JAX takes a batch, and jaxmarl uses it."""
    choices = np.array([[True, False, True]] * 2)

    def select(which):
        return lax.select(which, np.float32(1), np.float32(0))

    selected = vmap(select, in_axes=dim, out_axes=dim)(choices)
    np.testing.assert_array_equal(selected, choices.astype(np.float32))
    with pytest.raises(TypeError, match="does not fit cases of shape"):
        select(choices[0])


def test_select_n_pulls_back_to_each_case():
    def fun(which, x, y, ct):
        return vjp(partial(lax.select_n, which), x, y)[1](ct)

    jaxpr = trace(fun, aval("bool"), *[aval()] * 3)
    assert names(jaxpr).count("select_n") == 3


def test_integer_which_pulls_back_by_comparison():
    def fun(which, x, y, z, ct):
        return vjp(partial(lax.select_n, which), x, y, z)[1](ct)

    jaxpr = trace(fun, aval("int32"), *[aval()] * 4)
    assert names(jaxpr).count("eq") == 3


def lowered(fun, *avals):
    return lower_jaxpr(trace(fun, *avals), "f")


@pytest.mark.parametrize("name", ONE_OPERAND)
def test_lowering_of_one_operand(name):
    dtypes, op = ONE_OPERAND[name]
    dtype = "float32" if "float32" in dtypes else dtypes[-1]
    assert f"= {op} %" in lowered(getattr(lax, name), aval(dtype))


@pytest.mark.parametrize("name", BINARY)
def test_lowering_of_two_operands(name):
    dtypes, op = BINARY[name]
    dtype = "float32" if "float32" in dtypes else dtypes[-1]
    text = lowered(getattr(lax, name), aval(dtype), aval(dtype))
    assert f"= {op} %" in text or f'"{op}"(' in text


@pytest.mark.parametrize(
    "dtype, kind", [("float32", "FLOAT"), ("int8", "SIGNED"), ("uint32", "UNSIGNED")]
)
def test_comparisons_name_the_kind_of_number(dtype, kind):
    assert f", {kind} : " in lowered(lax.lt, aval(dtype), aval(dtype))


def test_comparison_in_the_total_order():
    assert ", TOTALORDER : " in lowered(lax.lt_to_p.bind, aval(), aval())


@pytest.mark.parametrize("count, selects", [(1, 0), (2, 1), (3, 2), (5, 4)])
def test_select_n_searches_the_cases(count, selects):
    text = lowered(lax.select_n, aval("int32"), *[aval()] * count)
    assert text.count("stablehlo.select") == selects
    assert text.count("stablehlo.compare LT") == selects


# Multiplications that the power by squaring takes.
@pytest.mark.parametrize("y, products", [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3)])
@pytest.mark.parametrize("sign", [1, -1])
def test_integer_pow_squares(y, products, sign):
    text = lowered(lambda x: lax.integer_pow(x, sign * y), aval())
    assert text.count("stablehlo.multiply") == products
    assert text.count("stablehlo.divide") == (sign * y < 0)


@pytest.mark.parametrize(
    "accuracy, attribute",
    [
        (None, None),
        (lax.AccuracyMode.DEFAULT, None),
        (lax.AccuracyMode.HIGHEST, "mode<HIGHEST>"),
        (lax.Tolerance(rtol=0.5, ulps=2), "rtol = 5.0000000000000000e-01, ulps = 2"),
    ],
)
def test_accuracy_is_an_attribute(accuracy, attribute):
    text = lowered(partial(lax.exp, accuracy=accuracy), aval())
    if attribute is None:
        assert "result_accuracy" not in text
    else:
        assert attribute in text


@pytest.mark.parametrize(
    "source, target, ops",
    [
        ("float32", "int32", ["convert"]),
        ("float32", "bool", ["compare", "convert"]),
        ("complex64", "float32", ["real", "convert"]),
        ("complex64", "bool", ["real", "compare", "convert"]),
    ],
)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_conversion_lowers_by_kind(source, target, ops):
    text = lowered(lambda x: lax.convert_element_type(x, target), aval(source))
    found = [
        line.split("stablehlo.")[1].split()[0] for line in text.split("\n") if " = stable" in line
    ]
    assert [op for op in found if op not in ("constant", "broadcast_in_dim")] == ops


def test_conversion_to_the_same_type_adds_no_equation():
    assert not trace(lambda x: lax.convert_element_type(x, "float32"), aval()).eqns


def test_conversion_of_a_weak_type_makes_it_strong():
    (out,) = trace(
        lambda x: lax.convert_element_type(x, "float32"), aval("float32", (), True)
    ).out_avals
    assert not out.weak_type


def test_conversion_of_complex_warns():
    with pytest.warns(np.exceptions.ComplexWarning, match="imaginary"):
        trace(lambda x: lax.convert_element_type(x, "float32"), aval("complex64"))


@pytest.mark.parametrize(
    "source, shape, target, result",
    [
        ("float32", (3,), "int32", (3,)),
        ("float32", (3,), "int8", (3, 4)),
        ("int8", (3, 4), "float32", (3,)),
        ("bfloat16", (2, 2), "uint32", (2,)),
    ],
)
def test_bitcast_keeps_the_bits(source, shape, target, result):
    jaxpr = trace(lambda x: lax.bitcast_convert_type(x, target), aval(source, shape))
    assert jaxpr.out_avals == [aval(target, result)]


# Every operand batched or not, at each place; the result must not depend on where.
BATCHED = {
    "add": (lax.add, [aval(), aval()]),
    "add scalar": (lax.add, [aval(), aval(shape=())]),
    "select": (lax.select_n, [aval("bool"), aval(), aval()]),
    "select by scalar": (lax.select_n, [aval("bool", ()), aval(), aval()]),
    "select scalars": (lax.select_n, [aval("bool", ())] + [aval(shape=())] * 2),
    "clamp": (lax.clamp, [aval(), aval(), aval()]),
    "clamp by scalars": (lax.clamp, [aval(shape=()), aval(), aval(shape=())]),
    "clamp scalars": (lax.clamp, [aval(shape=())] * 3),
    "exp": (lax.exp, [aval(shape=(3, 2))]),
    "bitcast": (lambda x: lax.bitcast_convert_type(x, "int8"), [aval()]),
    "narrow": (lambda x: lax.bitcast_convert_type(x, "float32"), [aval("int8", (4,))]),
    "betainc": (lax.betainc, [aval(), aval(shape=()), aval()]),
    "barrier": (lax.optimization_barrier, [aval()]),
}


def axes_of(avals):
    if not avals:
        yield ()
        return
    for rest in axes_of(avals[1:]):
        for axis in (None, *range(avals[0].ndim + 1)):
            yield (axis, *rest)


@pytest.mark.parametrize("case", BATCHED)
def test_batches_of_any_operand_at_any_axis(case):
    fun, avals = BATCHED[case]
    (single,) = trace(fun, *avals).out_avals
    for axes in axes_of(avals):
        if all(axis is None for axis in axes):
            continue
        batched = [
            a if i is None else a.update(shape=(*a.shape[:i], 5, *a.shape[i:]))
            for a, i in zip(avals, axes, strict=True)
        ]
        (out,) = trace(vmap(fun, axes), *batched).out_avals
        assert out.update(shape=out.shape[1:]) == single, axes
        assert out.shape[0] == 5, axes


def test_stop_gradient_has_no_tangent():
    jaxpr = trace(lambda x: vjp(lambda y: lax.mul(lax.stop_gradient(y), y), x)[1](x), aval())
    assert names(jaxpr) == ["stop_gradient", "mul", "mul"]


def test_barrier_keeps_tangents_apart():
    def fun(x, t):
        return jvp(lambda x: lax.optimization_barrier((x, np.float32(1)))[0], (x,), (t,))

    jaxpr = trace(fun, aval(), aval())
    assert [len(eqn.invars) for eqn in jaxpr.eqns] == [2, 1]


@pytest.mark.parametrize(
    "fun, avals, error, message",
    [
        (lax.add, [aval(), aval("int32")], TypeError, "add: the operands differ in dtype: float"),
        (
            lax.add,
            [aval(), aval(shape=(2, 3))],
            TypeError,
            "add: the operands have different numbers of dimensions",
        ),
        (lax.add, [aval(), aval(shape=(2,))], TypeError, "incompatible shapes for broadcasting"),
        (
            lax.pow,
            [aval("int32"), aval("int32")],
            TypeError,
            "Convert the operand with astype first",
        ),
        (lax.pow, [aval(), aval("complex64")], TypeError, "Give a float or complex base, and an"),
        (
            lambda x: lax.integer_pow(x, -1),
            [aval("int32")],
            TypeError,
            "is negative, which would leave the integers",
        ),
        (lambda x: lax.round(x, 7), [aval()], ValueError, "7 is not a valid RoundingMethod"),
        (lax.select_n, [aval("bool")], ValueError, "give one array, or more, to choose from"),
        (
            lax.select_n,
            [aval("bool"), aval(), aval(shape=())],
            TypeError,
            "select: the cases have different shapes",
        ),
        (
            lax.select_n,
            [aval("bool"), aval(), aval("int32")],
            TypeError,
            "select: the operands differ in dtype: float",
        ),
        (
            lax.select_n,
            [aval("bool", (2,)), aval(), aval()],
            TypeError,
            "Give one choice for each element, or a",
        ),
        (
            lax.select_n,
            [aval("bool"), aval(), aval(), aval()],
            TypeError,
            "chooses between two cases at most, and",
        ),
        (lax.select_n, [aval(), aval(), aval()], TypeError, "boolean or integer"),
        (
            lax.clamp,
            [aval(shape=(1,)), aval(), aval()],
            TypeError,
            "Give a scalar bound, or broadcast it to the",
        ),
        (
            lax.clamp,
            [aval(), aval(), aval("int32")],
            TypeError,
            "clamp: the operands differ in dtype: float",
        ),
        (
            lambda x: lax.convert_element_type(x, None),
            [aval()],
            ValueError,
            "convert_element_type: new_dtype is None, so",
        ),
        (
            lambda x: lax.bitcast_convert_type(x, "float32"),
            [aval("int8")],
            ValueError,
            "bits, and the last dimension of shape",
        ),
        (lambda x: lax.bitcast_convert_type(x, "int8"), [aval("bool")], TypeError, "bool"),
        (lambda x: lax.reduce_precision(x, 0, 3), [aval()], ValueError, "exponent_bits"),
        (lambda x: lax.reduce_precision(x, 3, -1), [aval()], ValueError, "mantissa_bits"),
        (lambda x: lax.exp(x, accuracy="high"), [aval()], NotImplementedError, "high"),
    ],
)
def test_errors_name_the_rule(fun, avals, error, message):
    with pytest.raises(error, match=message):
        lowered(fun, *avals)


def test_operations_without_a_derivative_raise_with_the_reason():
    with pytest.raises(NotImplementedError, match="jvp of"):
        trace(lambda x: vjp(lax.random_gamma_grad, x, x)[0], aval())


@pytest.mark.parametrize("bad", [{}, {"atol": -1.0}, {"ulps": -1}])
def test_tolerance_needs_a_bound(bad):
    with pytest.raises(ValueError, match="Tolerance: (a|no) bound"):
        lax.Tolerance(**bad)


@pytest.mark.parametrize(
    "dtype, weak, kind",
    [
        ("float32", False, np.float32),
        ("float32", True, float),
        ("bfloat16", False, ml_dtypes.bfloat16),
        ("bfloat16", True, ml_dtypes.bfloat16),
        ("int32", True, int),
        ("complex64", True, complex),
        ("int8", False, np.int8),
    ],
)
def test_scalar_has_the_dtype_asked_for(dtype, weak, kind):
    assert type(scalar(2, np.dtype(dtype), weak)) is kind


def test_python_scalars_take_the_dtype_of_arrays():
    x, y, z = operands(np.ones(2, np.float16), 2, True)
    assert (x.dtype, y.dtype, z.dtype) == (np.float16,) * 3
    assert operands(1, 2.0) == (1, 2.0)


@pytest.mark.parametrize("shape", [(), (1, 1), (2, 1), (1, 3), (2, 3)])
def test_sum_to_is_the_transpose_of_repeat_to(shape):
    def there_and_back(x):
        return sum_to(repeat_to(x, (2, 3)), shape)

    assert trace(there_and_back, aval(shape=shape)).out_avals == [aval(shape=shape)]
    assert not (shape == (2, 3) and trace(there_and_back, aval(shape=shape)).eqns)


@pytest.mark.parametrize("name", [*ONE_OPERAND, *BINARY])
def test_functions_are_documented(name):
    function = getattr(lax, name)
    assert function.__name__ == name
    (found,) = doctest.DocTestFinder().find(function, name, module=False)
    assert found.examples


@pytest.mark.parametrize("accuracy", [lax.AccuracyMode.HIGHEST, lax.Tolerance(rtol=1e-3)])
def test_erfc_takes_an_accuracy(accuracy, backend):
    x = np.linspace(-2, 2, 5, dtype=np.float32)
    np.testing.assert_allclose(lax.erfc(x, accuracy=accuracy), lax.erfc(x), rtol=1e-3)


def test_erfc_refuses_what_is_no_accuracy():
    with pytest.raises(NotImplementedError, match="AccuracyMode"):
        lax.erfc(np.float32(1), accuracy="high")

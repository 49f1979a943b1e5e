"""Rules exist for every primitive, and follow XLA on integers and at edges."""

import pkgutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import ricci_lax as lax
from ricci_ir import (
    ShapeDtypeStruct,
    UnexpectedTracerError,
    bfloat16,
    by_element,
    define,
    defined_at,
    make_jaxpr,
    primitives,
    staged_call,
)
from ricci_lax.authoring import nary
from ricci_lax.ffi import ffi_call
from ricci_reference import missing_rule, reference_backend, rules
from ricci_stablehlo import lower_rules, traced

I32, U8, F32 = np.int32, np.uint8, np.float32


def _to(dtype):
    return lambda x: lax.convert_element_type(x, dtype)


def test_every_primitive_has_a_rule_or_a_jaxpr():
    # Some modules that define primitives are imported by what uses them alone.
    for module in pkgutil.walk_packages(lax.__path__, "ricci_lax."):
        import_module(module.name)
    home = str(Path(lax.__file__).parent)
    defined = [p for p in primitives.values() if defined_at(p).startswith(home)]
    assert len(defined) > 150
    missing = [reason for p in defined if (reason := missing_rule(p))]
    assert not missing, "\n".join(missing)


def test_a_missing_rule_is_explained():
    lonely = define(
        "lonely",
        abstract_eval=lambda x: x,
        jvp=None,
        transpose=None,
        batch=None,
        lower=None,
        sharding=by_element,
    )
    try:
        said = r"'lonely' \(defined at .*test_rules.py:\d+\); %s\. .* reference=,"
        with pytest.raises(NotImplementedError, match=said % "neither has ricci_xla"):
            lonely.bind(1.0)
        lower_rules.define(lonely, lambda ctx, x: x)
        with pytest.raises(NotImplementedError, match=said % "ricci_xla has"):
            lonely.bind(1.0)
    finally:
        del primitives["lonely"]


def test_compiled_functions_need_executables():
    call = ffi_call("of_a_library", ShapeDtypeStruct((), F32))
    with pytest.raises(NotImplementedError, match=r"ffi_call: compiled functions .*ricci_xla"):
        call(F32(1))


def test_rule_of_another_type_raises(monkeypatch):
    monkeypatch.setitem(rules, lax.sin_p, lambda x, **params: np.float64(0))
    with pytest.raises(AssertionError, match="sin"):
        lax.sin(F32([1.0]))


def test_an_operand_is_not_made_read_only():
    x = np.ones(2, F32)
    result = lax.copy_p.bind(x)
    x[0] = 5
    assert result.tolist() == [1.0, 1.0]


def test_leaked_tracer_raises():
    leaked = []
    make_jaxpr(lambda x: leaked.append(x) or x)(1.0)
    with pytest.raises(UnexpectedTracerError):
        reference_backend.evaluate(lax.sin_p, (leaked[0],), {"accuracy": None})


def test_jaxpr_is_evaluated():
    jaxpr = make_jaxpr(lambda x: lax.mul(x, x))(F32(3))
    (result,) = staged_call.bind(jaxpr, "square", [F32(4)])
    assert float(result) == 16.0


@pytest.mark.parametrize(
    ("function", "args", "expected"),
    [
        (lax.div, (I32([7, -7, 5, -(2**31)]), I32([2, 2, 0, -1])), [3, -3, -1, -(2**31)]),
        (lax.div, (U8([7]), U8([0])), [255]),
        (lax.rem, (I32([7, -7, 5, -(2**31)]), I32([2, 2, 0, -1])), [1, -1, 5, 0]),
        (lax.rem, (F32([-7.5]), F32([2])), [-1.5]),
        (lax.add, (I32([2**31 - 1]), I32([1])), [-(2**31)]),
        (lax.shift_left, (I32([1, 1]), I32([31, 32])), [-(2**31), 0]),
        (lax.shift_right_logical, (I32([-1, -1]), I32([28, 99])), [15, 0]),
        (lax.shift_right_arithmetic, (I32([-8, -8]), I32([1, 99])), [-4, -1]),
        (lax.clz, (I32([0, 1, -1]),), [32, 31, 0]),
        (lax.population_count, (I32([-1, 5]),), [32, 2]),
        (_to(I32), (F32([np.nan, 1e20, -1e20, 2.9]),), [0, 2**31 - 1, -(2**31), 2]),
        (_to(U8), (F32([-3, 300]),), [0, 255]),
        (lambda x: lax.round(x), (F32([0.5, -0.5, 2.5]),), [1, -1, 3]),
        (lambda x: lax.argmax(x, 0, I32), (F32([1, np.nan, 3]),), 1),
        (lambda x: lax.sort(x), (F32([np.nan, 1, -np.inf]),), [-np.inf, 1, np.nan]),
        (lambda x: lax.dynamic_slice(x, (I32(9),), (2,)), (I32([1, 2, 3]),), [2, 3]),
        (lambda x: lax.reduce_max(x, (0,)), (F32([1, np.nan]),), np.nan),
    ],
)  # fmt: skip
def test_values_at_the_edges(function, args, expected):
    np.testing.assert_array_equal(np.asarray(function(*args)), expected)


@pytest.mark.parametrize(
    ("function", "args", "expected"),
    [
        # DLMF 5.4.12 and 5.4.13, 7.17, 8.4.1, 8.17.3, 10.25 at 1, 25.2.1 at 2, 5.15.
        (lax.digamma, (1.0,), -0.5772156649015329),
        (lax.digamma, (0.5,), -1.9635100260214235),
        (lax.erf_inv, (0.5,), 0.4769362762044699),
        (lax.igamma, (0.5, 1.0), 0.8427007929497149),
        (lax.igammac, (1.0, 2.0), 0.1353352832366127),
        (lax.betainc, (1.0, 3.0, 0.25), 0.578125),
        (lax.bessel_i0e, (1.0,), 0.46575960759364043),
        (lax.bessel_i1e, (1.0,), 0.2079104153497085),
        (lax.zeta, (2.0, 1.0), 1.6449340668482264),
        (lax.polygamma, (1.0, 1.0), 1.6449340668482264),
        (lax.lgamma, (0.5,), 0.5723649429247001),
    ],
)
def test_special_values(function, args, expected):
    np.testing.assert_allclose(np.asarray(function(*map(F32, args))), expected, rtol=3e-7)


@pytest.fixture
def block(request):
    """Defines an elementwise primitive, for the length of a test."""
    yield lambda *args, **rules: nary(request.node.name, *args, **rules)
    primitives.pop(request.node.name, None)


def test_rule_of_a_primitive_block_is_used(block):
    cube = block("toy.cube", (np.floating,), reference=lambda x: x**3)
    for dtype in (F32, bfloat16):
        result = cube.bind(np.asarray([2, -3], dtype))
        assert (result.dtype, result.tolist()) == (np.dtype(dtype), [8, -27])


def test_composed_primitives_need_no_rule(block):
    cube = block(traced(lambda x: lax.mul(x, lax.square(x))), (np.floating,))
    assert cube.bind(F32([2, -3])).tolist() == [8, -27]


def test_functions_of_one_accuracy_take_any():
    x = np.float32([0.5])
    for accuracy in (lax.AccuracyMode.HIGHEST, lax.Tolerance(rtol=1e-3)):
        np.testing.assert_array_equal(lax.erfc(x, accuracy=accuracy), lax.erfc(x))

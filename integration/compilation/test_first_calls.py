"""The first calls of an operation, which NumPy computes, give the bits that XLA gives later."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci_ir import enable_x64, exact_rules, get_aval, primitives
from ricci_testing import cases, examples, without_examples
from ricci_xla.calls import _eager
from ricci_xla.calls import _first_calls as first_calls

# Some casts of types exist for meshes alone, and say so in place of examples.
NAMES = sorted(p.name for p in exact_rules if p.name not in without_examples)
SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e30, -1e30, 1 / 3, 2.0**-126]
UNARY = ("abs", "neg", "square")
BINARY = ("add", "div", "eq", "ge", "gt", "le", "lt", "mul", "ne", "sub")


def bits(x):
    x = np.asarray(x)
    return x.dtype, x.shape, x.tobytes()


def check_same(primitive, found):
    """Count the operations that NumPy computes; each must have the bits of XLA's."""
    first = [
        first_calls.compute(primitive, tuple(map(get_aval, args)), args, params)
        for args, params in found
    ]
    # XLA is not asked for the others: for some processors it cannot compile those on float16.
    computed = [x for x in first if x is not None]
    found = [case for case, x in zip(found, first, strict=True) if x is not None]

    def run(operands):
        results = [primitive.bind(*xs, **p) for xs, (_, p) in zip(operands, found, strict=True)]
        return [r if primitive.multiple_results else [r] for r in results]

    compiled = ricci.jit(run)([args for args, _ in found])
    for ours, theirs, (args, params) in zip(computed, compiled, found, strict=True):
        assert [bits(x) for x in ours] == [bits(x) for x in theirs], (args, params)
        assert [x.aval for x in ours] == [x.aval for x in theirs]
        assert not any(x.committed for x in ours)
    return len(computed)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", NAMES)
def test_of_the_examples_of_every_primitive(name):
    assert name in examples()
    computed = 0
    for wide in False, True:
        with enable_x64(wide):
            found = [(e.args, e.params) for e in cases(name) if e.wide is wide]
            computed += check_same(primitives[name], found) if found else 0
    assert computed


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY + BINARY)
def test_of_special_values(name, dtype):
    values = np.array(SPECIAL, dtype)
    pairs = np.repeat(values, len(values)), np.tile(values, len(values))
    pairs = pairs[:1] if name in UNARY else pairs
    with enable_x64(dtype == "float64"):
        # One by one: a single subnormal result leaves a whole array to XLA.
        found = [(tuple(x[i : i + 1] for x in pairs), {}) for i in range(len(pairs[0]))]
        assert check_same(primitives[name], found) > 5


INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name in sorted({*UNARY, *BINARY} - {"div"})
        for dtype in INTEGERS
        if name != "abs" or dtype.startswith("int")
    ],
)
def test_of_integers_of_all_sizes(name, dtype):
    rng = np.random.default_rng(3)
    draw = lambda: np.frombuffer(rng.bytes(200 * np.dtype(dtype).itemsize), dtype)
    with enable_x64():
        args = (draw(),) if name in UNARY else (draw(), draw())
        limits = np.iinfo(dtype)
        extremes = np.array([limits.min, limits.max], dtype)
        pair = (extremes,) if name in UNARY else (extremes, extremes[::-1])
        assert check_same(primitives[name], [(args, {}), (pair, {})]) == 2


@pytest.mark.sampled(33)
@pytest.mark.parametrize("to", ["bool", *INTEGERS, "float32", "float64"])
@pytest.mark.parametrize("dtype", [*INTEGERS, "float32", "float64"])
def test_of_conversions_of_numbers_of_all_sizes(dtype, to):
    rng = np.random.default_rng(5)
    if dtype.startswith("float"):
        x = (rng.normal(size=200) * 10.0 ** rng.integers(-30, 30, 200)).astype(dtype)
    else:
        # Of every length, so that some lie halfway between two floats.
        bits = 8 * np.dtype(dtype).itemsize
        x = np.frombuffer(rng.bytes(200 * bits // 8), dtype) >> rng.integers(0, bits, 200, dtype)
        x = np.concatenate([x, (1 << np.arange(bits - 1)).astype(dtype) + np.array(1, dtype)])
    with enable_x64():
        computed = check_same(
            primitives["convert_element_type"],
            [((x,), {"new_dtype": np.dtype(to), "weak_type": False, "sharding": None})],
        )
    assert computed == (not dtype.startswith("float") or to in ("bool", "float32", "float64"))


@pytest.mark.sampled(24)
@pytest.mark.parametrize("shapes", [((64,), (64,)), ((64,), ()), ((), (64,)), ((8, 8), (1, 8))])
@pytest.mark.parametrize("name", BINARY)
def test_of_operands_that_are_repeated(name, shapes):
    rng = np.random.default_rng(7)
    found = [
        (tuple(np.asarray(rng.normal(size=shape), np.float32) for shape in shapes), {})
        for _ in range(8)
    ]
    computed = check_same(primitives[name], found)
    assert computed == 8 or (name == "div" and shapes[0] != shapes[1])


@pytest.mark.parametrize(
    ("args", "name"),
    [
        ((np.float32([1e-40]), np.float32([1e30])), "mul"),  # a subnormal operand
        ((np.float32([1e-20]), np.float32([1e-20])), "mul"),  # a subnormal result
        ((np.int32([7]), np.int32([0])), "div"),
        ((np.ones(3, np.complex64),) * 2, "add"),
        ((np.ones(1 << 15, np.float32),) * 2, "add"),
    ],
    ids=["operand", "result", "integers", "complex", "large"],
)
def test_inexact_first_calls_are_compiled_by_xla(args, name):
    avals = tuple(map(get_aval, args))
    assert first_calls.compute(primitives[name], avals, args, {}) is None


def test_first_calls_on_committed_arrays_are_compiled_by_xla():
    x = ricci.device_put(np.ones(3, np.float32), ricci.devices()[-1])
    assert first_calls.compute(primitives["neg"], (x.aval,), (x,), {}) is None
    assert (-x).devices() == x.devices()


def test_an_operation_that_comes_back_is_compiled(monkeypatch):
    calls = []
    compute = first_calls.compute
    monkeypatch.setattr(
        first_calls, "compute", lambda *args: calls.append(args[0].name) or compute(*args)
    )
    x = jnp.asarray(np.arange(13, dtype=np.float32))
    for _ in range(first_calls.CALLS + 2):
        np.testing.assert_array_equal(x + x, 2 * np.arange(13))
    assert calls.count("add") == first_calls.CALLS
    assert not misses(monkeypatch, lambda: x + x)


def misses(monkeypatch, fun):
    """Count the calls of Python by the C++ dispatcher."""
    asked = []
    trace_of = _eager._trace_of
    monkeypatch.setattr(_eager, "_trace_of", lambda *args: asked.append(args) or trace_of(*args))
    fun()
    return len(asked)


def test_an_operation_that_numpy_must_give_up_is_compiled(monkeypatch):
    x = jnp.asarray(np.ones(11, np.float32))
    tiny = jnp.asarray(np.full(11, 1e-20, np.float32))
    x * x
    np.testing.assert_array_equal(tiny * tiny, np.zeros(11))  # subnormal: zero for XLA
    x * x
    assert not misses(monkeypatch, lambda: x * x)


def test_a_result_does_not_share_memory_that_is_given_away():
    x = jnp.asarray(np.arange(17, dtype=np.float32)) * 1
    y = x.reshape(1, 17)
    ricci.jit(lambda x: x * 0, donate_argnums=0)(x)
    np.testing.assert_array_equal(y[0], np.arange(17))


def test_a_nan_is_found_in_a_first_call():
    x = jnp.asarray(np.full(19, np.inf, np.float32))
    with ricci.debug_nans(True), pytest.raises(FloatingPointError, match="sub"):
        x - x


def test_operands_of_other_ranks_and_dtypes_are_promoted_in_the_same_program(caplog):
    x, bias, counts = jnp.ones((3, 5)), jnp.arange(5.0), jnp.arange(5)
    programs = {"add": lambda: x + bias, "multiply": lambda: x * counts}
    ricci.clear_caches()
    for name, apply in programs.items():
        first = [bits(apply()) for _ in range(first_calls.CALLS)]
        caplog.clear()
        with ricci.log_compiles():
            later = [bits(apply()) for _ in range(3)]
        texts = [record.getMessage() for record in caplog.records]
        [compiled] = [text for text in texts if text.startswith("Compiling") and " for " in text]
        assert compiled.startswith(f"Compiling jit({name}) ")
        assert first == later

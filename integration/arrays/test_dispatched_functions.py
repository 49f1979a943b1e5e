"""Public functions that the C++ dispatcher calls: they return what the function itself returns."""

import functools
import inspect
import pickle
from types import FunctionType

import numpy as np
import pytest
from growth_cases import all_calls
from numpy_cases.case import Call

import ricci
import ricci.numpy as jnp
import ricci_ir as ir
from ricci import lax
from ricci_reference import ReferenceBackend

NAMES = {"jax": ricci, "jnp": jnp, "lax": lax, "np": np, "jsp": ricci.scipy, "random": ricci.random}
CALLS = 6  # of which the last ones are dispatched


def calls_of(call: Call):
    """Return the dispatched calls of the marked function that a call applies, or None."""
    path = call.source.partition("(")[0]
    try:
        function = eval(path, NAMES)
    except (NameError, SyntaxError, AttributeError):
        return None
    return dispatched_calls(function)


def dispatched_calls(function):
    """Return the dispatched calls of a public function that is marked, or None."""
    return (
        ir.unguarded(function).__dict__.get("dispatched")
        if type(function) is FunctionType
        else None
    )


MARKED = [call for call in all_calls() if calls_of(call)]


def repeated(call: Call, times: int = CALLS, convert=jnp.asarray):
    """Return the results of a call that is made several times."""
    operands = {name: convert(value) for name, value in call.inputs.items()}
    code = compile(call.source, "<call>", "eval")
    return [eval(code, {**NAMES, **operands}) for _ in range(times)]


def assert_same(result, expected):
    leaves, tree = ricci.tree.flatten(result)
    others, other_tree = ricci.tree.flatten(expected)
    assert tree == other_tree
    for x, y in zip(leaves, others, strict=True):
        assert (x.aval, x.committed) == (y.aval, y.committed)
        np.testing.assert_array_equal(x, y)


@pytest.mark.sampled(45)
@pytest.mark.parametrize("call", MARKED, ids=lambda call: call.source)
def test_dispatched_calls_return_what_the_function_does(call):
    expected, *others = repeated(call)
    for result in others:
        assert_same(result, expected)
    entries = calls_of(call).dispatch._cache_size()
    assert bool(entries) != (call.source in UNDISPATCHED), "compiled for these types"


@pytest.mark.sampled(45)
@pytest.mark.parametrize("call", MARKED, ids=lambda call: call.source)
def test_dispatched_calls_take_numpy_arrays(call):
    expected, *others = repeated(call, convert=np.asarray)
    for result in others:
        assert_same(result, expected)


@pytest.mark.parametrize("number", [2j, True, 1.5, 3, np.complex64(2j), np.float16(2), np.bool_(1)])
@pytest.mark.parametrize("name", ["square", "angle", "sin", "nan_to_num", "isreal"])
def test_dispatched_calls_take_numbers(name, number):
    expected, *others = [getattr(jnp, name)(number) for _ in range(CALLS)]
    np.testing.assert_allclose(expected, getattr(np, name)(number), rtol=1e-3)
    for result in others:
        assert_same(result, expected)


def test_first_calls_on_a_backend_take_settings_without_a_hash():
    x = jnp.arange(6.0).reshape(2, 3)
    with ir.use_backend(ReferenceBackend()):  # the shared backend's functions are looked up again
        pass
    assert_same(jnp.flip(x, [0]), jnp.flip(x, 0))


@pytest.mark.parametrize("call", MARKED[::8], ids=lambda call: call.source)
def test_dispatched_calls_depend_on_the_width_of_types(call):
    narrow = repeated(call)[-1]
    with ricci.enable_x64(True):
        expected, *others = repeated(call)
        assert_same(others[-1], expected)
    assert_same(repeated(call)[-1], narrow)


@pytest.mark.parametrize("namespace", [jnp, jnp.linalg, lax, ricci.nn], ids=lambda m: m.__name__)
def test_parameters_are_operands_or_settings(namespace):
    for name in namespace.__all__:
        function = getattr(namespace, name)
        calls = dispatched_calls(function)
        if calls is None:
            continue
        parameters = inspect.signature(function).parameters
        others = {n for n, p in parameters.items() if p.kind is p.VAR_KEYWORD}  # as of `pad`
        assert others or set(calls.setting_names) <= parameters.keys(), name
        for parameter in set(parameters) - others - set(calls.setting_names):
            annotation = parameters[parameter].annotation
            is_array = annotation is inspect.Parameter.empty or "Array" in str(annotation)
            assert is_array, f"{name}: {parameter} is a setting"


def test_results_that_are_operands_stay_so():
    x = jnp.arange(3.0)
    for _ in range(CALLS):
        for host in (np.asarray(x), np.float32(1), 1.0):
            assert isinstance(jnp.atleast_1d(host), ricci.Array)
            assert isinstance(jnp.conj(host), ricci.Array)
    for _ in range(CALLS):
        assert jnp.conj(x) is x and jnp.ravel(x) is x
        assert type(jnp.squeeze(np.float32(1))) is type(x)
        assert jnp.atleast_1d(x) is x and jnp.atleast_1d(x, x)[1] is x
        assert (weak := jnp.asarray(1.0)) is jnp.conj(weak)


def test_settings_that_cannot_be_hashed_are_passed_to_the_function():
    x = jnp.arange(6.0).reshape(2, 3)
    for _ in range(CALLS):
        assert jnp.mean(x, axis=[0, 1]) == jnp.mean(x, axis=(0, 1)) == 2.5


def test_equal_settings_of_other_types_are_told_apart():
    x = jnp.arange(3)
    for _ in range(CALLS):
        assert jnp.cumsum(x, axis=0).tolist() == [0, 1, 3]
        with pytest.raises(TypeError):
            jnp.cumsum(x, axis=0.0)
    y = jnp.ones((2, 3))
    for _ in range(CALLS):
        for function in jnp.mean, jnp.flip, jnp.median:
            for axis in (0, 1), (False, True):
                assert_same(function(y, axis=axis), function(y, (0, 1)))
            for axis in (0.0, 1.0), (0, 1.0):
                with pytest.raises(TypeError):
                    function(y, axis)
                with pytest.raises(TypeError):
                    function(y, axis=axis)


def test_errors_show_the_users_line_after_dispatched_calls():
    x = jnp.arange(6.0).reshape(2, 3)
    for _ in range(CALLS):
        jnp.diff(x, axis=1)
    for _ in range(CALLS):
        with pytest.raises(ValueError, match="diff: n is how often") as raised:
            jnp.diff(x, n=-1)
        assert [entry.name for entry in raised.traceback][1:] in ([], ["boundary"])
        with pytest.raises(TypeError, match="sinh"):
            jnp.sinh("x")
    deleted = jnp.arange(3.0) + 1
    deleted.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        jnp.diff(deleted)


def test_numbers_are_not_dispatched():
    x = jnp.arange(3, dtype="int8")
    for _ in range(CALLS):
        assert jnp.less(x, 300).tolist() == [True] * 3
        assert jnp.heaviside(0.0, 0.5) == 0.5


def test_options_of_a_block_hold_for_dispatched_calls():
    x, y = jnp.ones((2, 3)), jnp.ones(3)
    for _ in range(CALLS):
        jnp.arctan2(x, y)
    with ricci.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="rank"):
        jnp.arctan2(x, y)
    with ricci.debug_nans(True), pytest.raises(FloatingPointError):
        jnp.divide(y - 1, y - 1)
    with ricci.disable_jit():
        assert jnp.diff(y).tolist() == [0, 0]


def test_dispatched_functions_are_recorded_and_transformed():
    x = jnp.arange(1.0, 4.0)
    for _ in range(CALLS):
        jnp.diff(x), jnp.sinh(x)
    assert "diff" in str(ricci.make_jaxpr(jnp.diff)(x))
    assert ricci.vmap(jnp.diff)(x[None]).shape == (1, 2)
    assert ricci.grad(lambda x: jnp.sinh(x).sum())(x).tolist() == jnp.cosh(x).tolist()

    @ricci.jit
    def constant():
        return jnp.diff(x)  # not traced, and yet recorded

    assert constant().tolist() == [1, 1]
    assert len(ricci.make_jaxpr(lambda: jnp.diff(x))().eqns) == 1


def test_tracers_at_compile_time_are_recorded():
    @ricci.jit
    def f(x):
        with ricci.ensure_compile_time_eval():
            return jnp.diff(x)

    assert f(jnp.arange(3.0)).tolist() == [1, 1]


def test_another_backend_of_a_thread_gets_the_calls():
    x = np.arange(3.0, dtype=np.float32)
    for _ in range(CALLS):
        jnp.diff(jnp.asarray(x)), jnp.sinh(jnp.asarray(x))
    with ir.use_backend(ReferenceBackend()):
        for function in jnp.diff, jnp.sinh:
            assert type(function(jnp.asarray(x))).__name__ == "ReferenceArray"


# Calls with a number among the operands, whose value may matter.
UNDISPATCHED: dict[str, str] = {}


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_floats_beside_arrays_have_their_own_values(dtype):
    x = jnp.asarray([0.1, 0.5, 2.0], dtype)
    for dx in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7):
        result = jnp.trapezoid(x, dx=dx)
        assert result.dtype == dtype
        np.testing.assert_allclose(result, dx * 1.55, rtol=2e-3)
        assert jnp.isclose(x, dx, rtol=0.0, atol=0.0).tolist() == (x == dx).tolist()
    for q in (0, 25.0, 50, 100) * 5:
        np.testing.assert_allclose(jnp.percentile(x, q), np.percentile(x, q), rtol=2e-3)
    assert jnp.percentile(x, jnp.array([0, 100])).shape == (2,)


def test_integers_in_arrays_are_not_constants():
    x = jnp.asarray([2.0, 3.0])
    for n in range(CALLS):
        assert jnp.float_power(x, jnp.int32(n)).tolist() == [2.0**n, 3.0**n]


@pytest.mark.filterwarnings("error")
def test_each_call_warns_of_a_dtype_that_is_not_available():
    x = jnp.arange(3.0)
    for _ in range(CALLS):
        for function in jnp.cumsum, jnp.mean:
            with pytest.warns(UserWarning, match="float64 was asked for") as caught:
                function(x, dtype="float64")
            assert len(caught) == 1 and caught[0].filename == __file__


def test_settings_that_may_change_are_read_by_each_call():
    class Axis:
        number = 0

        def __index__(self):
            return self.number

    x, axis = jnp.arange(6.0).reshape(2, 3), Axis()
    for function in jnp.mean, jnp.flip:
        for axis.number in (0,) * CALLS + (1,) * CALLS:
            assert_same(function(x, axis), function(x, axis.number))


def test_settings_that_cannot_be_compared_are_passed_to_the_function():
    class Axis:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            raise NotImplementedError

    for _ in range(CALLS):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            jnp.mean(jnp.arange(3.0), Axis())


def test_wrappers_and_transformed_functions_are_pickled():
    for function in jnp.sinc, jnp.mean, jnp.ravel:
        for _ in range(CALLS):
            function(jnp.ones(3))
        jitted = pickle.loads(pickle.dumps(ricci.jit(function)))
        assert_same(jitted(jnp.ones(3)), ricci.jit(function)(jnp.ones(3)))
        wrapper = functools.wraps(function)(lambda x: x)
        assert not any(isinstance(x, ir.PublicFunction) for x in wrapper.__dict__.values())


@pytest.mark.parametrize("name", ["less", "sinh", "hypot", "take", "median"])
def test_errors_name_the_function(name):
    function, x = getattr(jnp, name), jnp.arange(3.0) + 1
    others = {"less": (x + 1,), "hypot": (x + 1,), "take": (jnp.int32(0),)}.get(name, ())
    for _ in range(CALLS):
        function(x, *others)
    x.delete()
    with pytest.raises(RuntimeError, match=f"^{name} was called with an array that was deleted"):
        function(x, *others)


def test_errors_of_signatures_name_the_parameters():
    x = jnp.ones(3)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x2'"):
        jnp.divmod(x)
    with pytest.raises(TypeError, match="positional-only arguments passed .*'x1, x2'"):
        jnp.hypot(x1=x, x2=x)
    with pytest.raises(TypeError, match="'axes'. Did you mean 'axis'\\? It takes: a, axis, dtype"):
        jnp.mean(x, axes=0)
    with pytest.raises(TypeError, match="^amin\\(\\) got an unexpected"):
        jnp.amin(x, axes=0)

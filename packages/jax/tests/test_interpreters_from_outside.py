"""Interpreters that a library writes for JAX: their traces, and loops over equations."""

import numpy as np

import jax
import jax.numpy as jnp
from jax.api_util import flatten_fun_nokwargs
from jax.core import ShapedArray
from jax.extend import core, linear_util
from jax.interpreters import partial_eval as pe
from jax.tree_util import tree_structure

X = np.arange(3, dtype=np.float32)
VECTOR = ShapedArray((3,), np.float32)


class CountingTracer(jax.core.Tracer):
    def __init__(self, trace, value):
        super().__init__(trace, jax.typeof(value))
        self.value = value


class CountingTrace(jax.core.Trace):
    """Writes down the names of operations, and has the trace below do them."""

    def __init__(self, parent_trace, found):
        super().__init__()
        self.parent_trace = parent_trace
        self.found = found

    def lower(self, x):
        return x.value if isinstance(x, CountingTracer) else x

    def process_primitive(self, primitive, tracers, params):
        self.found.append(primitive.name)
        values = [self.lower(t) for t in tracers]
        avals = [jax.typeof(v) for v in values]
        result = primitive.bind_with_trace(self.parent_trace, values, avals, params)
        wrap = lambda value: CountingTracer(self, value)
        return list(map(wrap, result)) if primitive.multiple_results else wrap(result)


def counted(f, x):
    found = []
    with core.take_current_trace() as parent:
        trace = CountingTrace(parent, found)
        with core.set_current_trace(trace):
            result = f(CountingTracer(trace, x))
    return trace.lower(result), found


def test_a_trace_of_a_library_sees_every_operation():
    result, found = counted(lambda x: jax.lax.sin(x) * 2.0, jnp.asarray(X))
    np.testing.assert_allclose(result, np.sin(X) * 2, rtol=1e-6)
    assert found == ["sin", "mul"]


def test_interpreter_works_inside_of_jit():
    f = jax.jit(lambda x: counted(jax.lax.sin, x)[0])
    np.testing.assert_allclose(f(X), np.sin(X), rtol=1e-6)


def test_the_state_of_tracing_is_the_same_in_one_trace_only():
    states = []

    def f(x):
        states.extend(core.get_opaque_trace_state(convention="test") for _ in range(2))
        return x

    jax.jit(f)(X)
    assert states[0] == states[1] != core.get_opaque_trace_state(convention="test")


def flat(f):
    fun, tree = flatten_fun_nokwargs(linear_util.wrap_init(f), tree_structure((0,)))
    return fun, tree


def test_closed_over_values_lead_the_arguments():
    closed = jnp.asarray(X)
    jaxpr, avals, consts = pe.trace_to_jaxpr_dynamic(flat(lambda x: x + closed)[0], [VECTOR])
    assert (len(jaxpr.invars), len(jaxpr.consts), avals) == (2, 0, [VECTOR])
    assert core.jaxpr_as_fun(jaxpr)(*consts, X)[0].tolist() == [0.0, 2.0, 4.0]


def test_dead_code_and_its_arguments_are_removed():
    jaxpr = jax.make_jaxpr(lambda x, y: (jnp.sin(x), jnp.cos(y)))(X, X)
    smaller, used = pe.dce_jaxpr(jaxpr, [False, True])
    assert (used, [e.primitive.name for e in smaller.eqns]) == ([False, True], ["cos"])
    _, kept = pe.dce_jaxpr(jaxpr, [False, True], instantiate=True)
    assert kept == [True, True]


def test_known_results_are_computed_and_the_others_recorded():
    fun, _ = flat(lambda pair: (jnp.sin(pair[0]), pair[0] * pair[1]))
    fun, _ = flatten_fun_nokwargs(
        linear_util.wrap_init(lambda x, y: (jnp.sin(x), x * y)), tree_structure((0, 0))
    )
    known, unknown = pe.PartialVal.known(X), pe.PartialVal.unknown(VECTOR)
    jaxpr, results, residuals = pe.trace_to_jaxpr_nounits(fun, [known, unknown])
    np.testing.assert_allclose(results[0].get_known(), np.sin(X), rtol=1e-6)
    assert (results[1].is_known(), results[1].get_aval()) == (False, VECTOR)
    assert core.jaxpr_as_fun(jaxpr)(*residuals, X)[0].tolist() == [0.0, 1.0, 4.0]


def test_programs_with_their_constants():
    jaxpr = jax.make_jaxpr(lambda x: x + jnp.asarray(X))(X)
    closed = core.ClosedJaxpr(jaxpr, jaxpr.consts)
    assert core.jaxpr_as_fun(closed)(X)[0].tolist() == [0.0, 2.0, 4.0]


def test_types_with_and_without_a_mapped_axis():
    matrix = ShapedArray((2, 3), np.float32)
    assert core.mapped_aval(2, 0, matrix) is VECTOR
    assert core.unmapped_aval(2, 0, VECTOR) is matrix
    assert core.mapped_aval(2, None, matrix) is matrix


def test_calls_are_written_out():
    jaxpr = jax.make_jaxpr(jnp.sin)(X)
    call = lambda x: core.primitives.call_p.bind(x, call_jaxpr=jaxpr)[0]
    assert [e.primitive.name for e in jax.make_jaxpr(call)(X).eqns] == ["sin"]


class Doubled:
    """A value that represents twice its array, as a library's wrappers of arrays do."""

    def __init__(self, array):
        self.array = array


class DoublingTracer(jax.core.Tracer):
    def __init__(self, trace, value):
        super().__init__(trace, jax.typeof(value.array))
        self.value = value

    def full_lower(self):
        return self


class DoublingTrace(jax.core.Trace):
    """Passes the wrapped arrays of a call with a custom derivative on, as quax does."""

    def __init__(self, parent_trace):
        super().__init__()
        self.parent_trace = parent_trace
        self.calls = []

    def process_primitive(self, primitive, tracers, params):
        self.calls.append(primitive.name)
        values = [2 * x.value.array if isinstance(x, DoublingTracer) else x for x in tracers]
        with core.set_current_trace(self.parent_trace):
            result = primitive.bind(*values, **params)
        wrap = lambda x: DoublingTracer(self, Doubled(x / 2))
        return list(map(wrap, result)) if primitive.multiple_results else wrap(result)

    def process_custom_jvp_call(self, primitive, fun, jvp, tracers, *, symbolic_zeros):
        self.calls.append("custom_jvp")
        arrays = tuple(x.value.array if isinstance(x, DoublingTracer) else x for x in tracers)
        params = {"subfuns": (fun, jvp), "symbolic_zeros": symbolic_zeros}
        avals = tuple(map(jax.typeof, arrays))
        results = primitive.bind_with_trace(self.parent_trace, arrays, avals, params)
        return [DoublingTracer(self, Doubled(x)) for x in results]


@jax.custom_jvp
def cubed(x):
    return x**3


cubed.defjvp(lambda primals, tangents: (cubed(*primals), 100.0 * tangents[0]))


def doubled(f, x):
    with core.take_current_trace() as parent:
        trace = DoublingTrace(parent)
        with core.set_current_trace(trace):
            result = trace.full_raise(f(DoublingTracer(trace, Doubled(x))))
    return result.full_lower().value.array, trace.calls


def test_a_trace_of_a_library_gets_calls_with_custom_derivatives():
    result, calls = doubled(cubed, jnp.asarray(3.0))
    assert (result, calls) == (27.0, ["custom_jvp"])
    outer = lambda x: doubled(cubed, x)[0]
    for f in (outer, jax.jit(outer)):
        assert jax.grad(f)(3.0) == 100.0
        assert jax.jvp(f, (3.0,), (2.0,)) == (27.0, 200.0)
    np.testing.assert_array_equal(jax.vmap(jax.grad(outer))(X), np.full(3, 100.0))


def test_a_trace_without_that_method_gets_the_call_as_a_primitive():
    result, names = counted(cubed, jnp.asarray(3.0))
    assert (result, names) == (27.0, ["custom_jvp_call"])


def test_tracers_and_traces_have_the_methods_that_libraries_call():
    @jax.jit
    def f(x):
        trace = x._trace
        assert x.full_lower() is x and x.get_referent() is x and x.to_concrete_value() is None
        assert trace.full_raise(x) is x and trace.is_valid() and not trace.requires_low
        return x

    f(1.0)
    trace = CountingTrace(None, [])
    trace.invalidate()
    assert not trace.is_valid()

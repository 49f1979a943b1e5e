"""The steps of ``vmap`` and of ``vectorize`` under JAX's private names, as libraries use them."""

import sys

import numpy as np
import opt_einsum
import pytest

import jax
import jax.numpy as jnp
from jax._src import core, dispatch, literals, traceback_util
from jax._src.custom_api_util import register_custom_decorator_type
from jax._src.interpreters import batching
from jax._src.numpy import vectorize
from jax._src.numpy.array_methods import _IndexUpdateHelper, _IndexUpdateRef
from jax._src.numpy.index_tricks import CClass, RClass
from jax.example_libraries import stax
from jax.experimental import jet
from jax.extend import source_info_util


def test_a_batch_tracer_has_its_batch_and_its_dimension():
    """Brainstate reads both to learn where a state is batched."""
    seen = []

    def record(x):
        assert isinstance(x, batching.BatchTracer)
        seen.append((x.batch_dim, x.val.shape))
        return x

    jax.vmap(record, in_axes=1)(jnp.ones((2, 3)))
    assert seen == [(1, (2, 3))]


def test_a_batching_trace_makes_examples_of_batches():
    def shifted(x):
        index = batching.to_elt(core.trace_ctx.trace, None, batching.make_iota(3), 0)
        return x + index

    assert jax.vmap(shifted)(jnp.zeros(3)).tolist() == [0.0, 1.0, 2.0]


class Doubled(_IndexUpdateRef):
    def get(self, **options):
        return 2 * super().get(**options)


class DoubledHelper(_IndexUpdateHelper):
    def __getitem__(self, index):
        return Doubled(self.array, index)


def test_index_updates_are_derived_from():
    """Unxt derives the updates of its quantities, and replaces the class in the text."""
    updates = DoubledHelper(jnp.arange(3))
    assert updates[1].get() == 2
    assert repr(updates[1]).startswith("_IndexUpdateRef(Array([0, 1, 2]")
    assert updates[1].set(5).tolist() == [0, 5, 2]


@pytest.mark.parametrize("base", [CClass, RClass])
def test_index_tricks_are_derived_from(base):
    """Quaxed derives both classes, and instantiates them without arguments."""

    class Derived(base):
        def __getitem__(self, key):
            return super().__getitem__(key)

    original = jnp.c_ if base is CClass else jnp.r_
    key = (np.arange(3), np.ones(3, np.int32))
    np.testing.assert_array_equal(Derived()[key], original[key])


def test_the_steps_of_vectorize():
    """Quaxed composes ``vectorize`` from these."""
    ins, outs = vectorize._parse_gufunc_signature("(m,n),(n)->(m)")
    assert (ins, outs) == ([("m", "n"), ("n",)], [("m",)])
    arrays = jnp.ones((2, 1, 3, 4)), jnp.ones((5, 4))
    assert vectorize._parse_input_dimensions(arrays, ins) == ((2, 5), {"m": 3, "n": 4})
    with pytest.raises(ValueError, match="core dimension 'n' has size 5"):
        vectorize._parse_input_dimensions((arrays[0], jnp.ones(5)), ins)
    checked = vectorize._check_output_dims(jnp.matvec, {"m": 3, "n": 4}, outs)
    assert checked(jnp.ones((3, 4)), jnp.ones(4)).tolist() == [4.0] * 3
    with pytest.raises(ValueError, match="core dimension 'm' has size 2"):
        checked(jnp.ones((2, 4)), jnp.ones(4))


def test_excluded_arguments_are_bound():
    def text(*args, **kwargs):
        return args, kwargs

    fun, args, kwargs = vectorize._apply_excluded(text, {1, "b"}, (10, 20, 30), {"b": 1, "c": 2})
    assert (list(args), kwargs) == ([10, 30], {"c": 2})
    assert fun(*args, **kwargs) == ((10, 20, 30), {"b": 1, "c": 2})


def test_a_traceback_without_internal_frames():
    jax.config.update("jax_traceback_filtering", "off")
    try:
        jnp.zeros(2) + jnp.zeros(3)
    except TypeError:
        whole = sys.exc_info()[2]
    finally:
        jax.config.update("jax_traceback_filtering", "auto")
    filtered = traceback_util.filter_traceback(whole)
    assert whole.tb_next is not None
    assert filtered.tb_frame is whole.tb_frame and filtered.tb_next is None


def test_context_of_equations():
    """Brainstate gives its own equations a context; those of others keep theirs."""

    def doubled(x):
        with jax.enable_x64(True):
            return 2 * x

    (eqn,) = jax.make_jaxpr(lambda x: 2 * x)(1.0).eqns
    plain = eqn.ctx, core.JaxprEqnContext()
    for ctx in plain:
        parts = eqn.invars, eqn.outvars, eqn.primitive, eqn.params, set(), eqn.source_info
        assert str(core.JaxprEqn(*parts, ctx)) == str(eqn)
    (wide,) = jax.make_jaxpr(doubled)(jnp.float32(1)).eqns[-1:]
    assert wide.ctx.settings is not None
    assert core.new_jaxpr_eqn(*parts, wide.ctx).ctx == wide.ctx
    with pytest.raises(TypeError, match="call new_jaxpr_eqn"):
        core.JaxprEqn(*parts, wide.ctx)


def test_sizes_that_are_numbers():
    assert core.is_constant_dim(3) and not core.is_constant_dim("b")


def test_stax_has_the_initializers_that_it_uses():
    key = jax.random.key(0)
    assert stax.ones(key, (2,)).tolist() == [1.0, 1.0]
    assert stax.zeros(key, (2,)).tolist() == [0.0, 0.0]
    assert stax.softmax(jnp.zeros(2)).tolist() == [0.5, 0.5]
    assert callable(stax.serial)


def _squares(x):
    return opt_einsum.contract("i,i->", x, x)


@pytest.mark.parametrize(
    "result",
    [
        lambda x: jax.jit(_squares)(x),
        lambda x: jax.value_and_grad(_squares)(x)[0],
        lambda x: jax.jvp(_squares, (x,), (x,))[0],
        lambda x: jax.vmap(_squares)(x[None])[0],
        lambda x: jax.linearize(_squares, x)[0],
        lambda x: jax.value_and_grad(jax.checkpoint(_squares))(x)[0],
        lambda x: jax.lax.map(_squares, x[None])[0],
        lambda x: jet.jet(_squares, (x,), ([x],))[0],
    ],
    ids="jit grad jvp vmap linearize checkpoint map jet".split(),
)
def test_libraries_find_the_functions_for_a_tracer(result):
    """opt_einsum and autoray choose a backend by the package of the class of an array."""
    assert result(jnp.arange(3.0)) == 5


def test_tracers_of_libraries_keep_their_module():
    class Traced(jax.core.Tracer):
        pass

    assert Traced.__module__ == __name__


def test_equations_and_jaxprs_are_replaced_by_the_names_of_jax():
    """Brainstate optimises jaxprs so."""
    jaxpr = jax.make_jaxpr(lambda x: x * 2)(1.0).jaxpr
    (eqn,) = jaxpr.eqns
    moved = eqn.replace(source_info=source_info_util.new_source_info(), ctx=core.JaxprEqnContext())
    assert moved.source_info.code is None and str(moved) == str(eqn)
    info = jaxpr.debug_info
    assert "lambda" in info.func_src_info and info.arg_names == ("x",)
    assert jaxpr.replace(eqns=[moved], debug_info=info.with_unknown_names()).debug_info == (
        info._replace(arg_names=None, result_paths=None)
    )


def test_callable_objects_of_decorators_are_jitted():
    """jaxdecomp registers its classes, and adds its primitives to those that read the devices."""

    @register_custom_decorator_type
    class Doubled:
        def __init__(self, fun):
            self.fun = fun
            self.primitive = jax.extend.core.Primitive("doubled")
            dispatch.prim_requires_devices_during_lowering.add(self.primitive)

        def __call__(self, x):
            return 2 * self.fun(x)

    assert jax.jit(Doubled(jnp.sum))(jnp.ones(3)) == 6


@pytest.mark.parametrize(
    ("kind", "value"),
    [(literals.TypedInt, 3), (literals.TypedFloat, 0.5), (literals.TypedComplex, 1j)],
)
def test_numbers_of_a_dtype(kind, value):
    number = kind(value, dtype=jnp.bfloat16.dtype)
    assert number == value and isinstance(number, type(value))
    assert number.dtype == jnp.bfloat16


def test_the_state_of_tracing_is_that_around_evaluation_at_compile_time():
    """Brainstate refuses to write a tracer into a global state there."""
    outside = core.get_opaque_trace_state()
    with jax.ensure_compile_time_eval():
        assert core.get_opaque_trace_state() == outside and core.trace_state_clean()

    def compare(x):
        inside = core.get_opaque_trace_state()
        with jax.ensure_compile_time_eval():
            assert core.get_opaque_trace_state() == inside != outside
            assert not core.trace_state_clean()
        return x

    for transform in (jax.jit, jax.grad, jax.make_jaxpr):
        transform(compare)(1.0)

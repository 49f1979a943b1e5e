"""Interpreters of libraries that rewrite the calls and loops that they meet, as quax does."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._src import flattree
from jax.extend import core
from jax.extend.core.primitives import jit_p, scan_p
from jax.interpreters import partial_eval as pe

TABLE = np.arange(3.0, dtype=np.float32)
NAMES = {
    *("compiler_options_kvs", "ctx_mesh", "donated_invars", "in_layouts", "in_shardings", "inline"),
    *("jaxpr", "keep_unused", "name", "out_layouts", "out_shardings"),
}


class RecordingTracer(jax.core.Tracer):
    def __init__(self, trace, value):
        super().__init__(trace, jax.typeof(value))
        self.value = value


class RecordingTrace(jax.core.Trace):
    """Stores the parameters of operations, and binds them again in the trace below."""

    def __init__(self, parent_trace):
        super().__init__()
        self.parent_trace = parent_trace
        self.params = {}

    def lower(self, x):
        return x.value if isinstance(x, RecordingTracer) else x

    def process_primitive(self, primitive, tracers, params):
        self.params[primitive] = params
        with core.set_current_trace(self.parent_trace):
            results = self.rebind(primitive, list(map(self.lower, tracers)), **params)
        wrap = lambda value: RecordingTracer(self, value)
        return list(map(wrap, results)) if primitive.multiple_results else wrap(results)

    def rebind(self, primitive, operands, **params):
        return primitive.bind(*operands, **params)


class RewritingTrace(RecordingTrace):
    """Records the bodies of loops with twice as many operands."""

    def rebind(self, primitive, operands, **params):
        if primitive is not scan_p:
            return super().rebind(primitive, operands, **params)
        groups = [group.vals for group in params["ft_in"].update(operands).unpack()]
        consts, carry, xs = groups
        fun = core.jaxpr_as_fun(params["jaxpr"])
        offset = jnp.asarray(TABLE[1])

        def body(*flat):
            outs = fun(*flat[: len(consts)], *flat[2 * len(consts) :])
            return [out + 0 * offset for out in outs]

        slices = [jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in xs]
        jaxpr = jax.make_jaxpr(body)(*consts, *consts, *carry, *slices)
        nones = flattree.nones
        sizes = (nones(2 * len(consts)), nones(len(carry)), nones(len(xs)))
        results = len(jaxpr.out_avals) - len(carry)
        trees = {"ft_in": flattree.pack(sizes)}
        trees["ft_out"] = flattree.pack((nones(len(carry)), nones(results)))
        return scan_p.bind(*consts, *consts, *carry, *xs, **{**params, **trees, "jaxpr": jaxpr})


def traced(f, *args, kind=RecordingTrace):
    with core.take_current_trace() as parent:
        trace = kind(parent)
        with core.set_current_trace(trace):
            result = f(*(RecordingTracer(trace, x) for x in args))
    return jax.tree.map(trace.lower, result), trace.params


@jax.jit
def shifted(x):
    return jnp.sin(x) + TABLE


def scaled_sums(scale, xs):
    def body(carry, x):
        return carry + scale * x, carry * x

    return jax.lax.scan(body, jnp.float32(0), xs)


def transformed(f):
    """The function and what transformations make of it, with a function of its results' sum."""
    total = lambda x: sum(jnp.sum(leaf) for leaf in jax.tree.leaves(f(x)))
    return {
        "plain": f,
        "jit": jax.jit(f),
        "grad": jax.grad(total),
        "jit grad": jax.jit(jax.grad(total)),
    }


@pytest.mark.sampled(18)
@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("transform", ["plain", "jit", "grad", "jit grad"])
@pytest.mark.parametrize("kind", [RecordingTrace, RewritingTrace])
@pytest.mark.parametrize("f", [shifted, lambda x: scaled_sums(2.0, x)])
def test_a_call_or_loop_bound_again_by_a_library_gives_the_same(f, kind, transform, x64):
    with jax.enable_x64(x64):
        again = lambda x: traced(f, x, kind=kind)[0]
        x = jnp.asarray(TABLE)
        for _ in range(2):
            expected, result = transformed(f)[transform](x), transformed(again)[transform](x)
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), expected, result)


def test_a_library_reads_a_call_by_the_names_of_jax():
    params = traced(shifted, jnp.asarray(TABLE))[1][jit_p]
    assert set(params) == NAMES
    assert params["inline"] is jax.Inline.AUTO
    assert (params["name"], params["keep_unused"]) == ("shifted", False)
    assert params["donated_invars"] == (False,) * len(params["in_shardings"])


def test_a_call_that_asks_to_be_inlined_says_so():
    inlined = jax.jit(jnp.sin, inline=True)
    params = traced(inlined, jnp.asarray(TABLE))[1][jit_p]
    assert params["inline"] is not jax.Inline.AUTO


def test_a_library_reads_a_loop_by_the_names_of_jax():
    params = traced(lambda x: scaled_sums(x[0], x), jnp.asarray(TABLE))[1][scan_p]
    assert set(params) == {"ft_in", "ft_out", "jaxpr", "length", "reverse", "unroll"}
    assert list(map(len, params["ft_in"].unpack())) == [1, 1, 1]
    assert list(map(len, params["ft_out"].unpack())) == [1, 1]


def test_a_call_with_a_sharding_that_its_jaxpr_does_not_have_is_refused():
    params = traced(shifted, jnp.asarray(TABLE))[1][jit_p]
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    with pytest.raises(NotImplementedError, match="in_shardings"):
        jit_p.bind(TABLE, **{**params, "in_shardings": (sharding,)})


def test_groups_of_values_are_nested_and_packed():
    tree = flattree.pack((flattree.nones(1), flattree.nones(2), flattree.nones(0)))
    values = tree.update([1, 2, 3])
    assert (tree.vals, repr(values), len(values)) == ((None,) * 3, "((1,), (2, 3), ())", 3)
    outer = flattree.pack((tree, flattree.nones(1))).update(range(4))
    assert [group.vals for group in outer.unpack()] == [(0, 1, 2), (3,)]
    assert outer == outer.update(range(4))
    assert hash(outer) == hash(outer.update(range(4)))
    assert outer != values and outer.unflatten()[1] == (3,)
    with pytest.raises(ValueError, match="1 values"):
        tree.update([1])


@jax.custom_jvp
def tripled(x, y):
    return 3 * jnp.sin(x) * y


tripled.defjvps(lambda t, out, x, y: 3 * jnp.cos(x) * y * t, None)


@jax.custom_vjp
def halved(x):
    return 0.5 * x


halved.defvjp(lambda x: (halved(x), None), lambda _, ct: (0.5 * ct,))


def equation(f, *args):
    (eqn,) = jax.make_jaxpr(f)(*args).eqns
    return eqn


def of_scan(jaxpr):
    """An equation of a loop that dead code was removed from, which another pass copied."""
    (eqn,) = pe.dce_jaxpr(jaxpr, [True, False])[0].eqns
    return eqn.replace(params={**eqn.params, "unroll": 2})


def test_equations_are_read_by_the_names_of_jax():
    call = equation(lambda x: jax.jit(jnp.sin)(x), TABLE).params
    assert {name: call[name] for name in NAMES} == {
        "jaxpr": call["jaxpr"],
        "name": "sin",
        "inline": jax.Inline.AUTO,
        "donated_invars": (False,),
        "keep_unused": False,
        "compiler_options_kvs": (),
        "in_layouts": (None,),
        "out_layouts": (None,),
        "ctx_mesh": call["ctx_mesh"],
        "in_shardings": call["in_shardings"],
        "out_shardings": call["out_shardings"],
    }
    assert set(call) == {"jaxpr", "name"}
    with pytest.raises(KeyError, match="no_such_name"):
        call["no_such_name"]
    with pytest.raises(KeyError, match="inline"):
        equation(jnp.sin, TABLE).params["inline"]


def test_equations_of_loops_are_read_by_the_names_of_jax_after_a_pass():
    jaxpr = jax.make_jaxpr(lambda x: scaled_sums(2.0, x))(TABLE)
    params = of_scan(jaxpr).params
    assert list(map(len, params["ft_in"].unpack())) == [0, 1, 1]
    assert list(map(len, params["ft_out"].unpack())) == [1, 0]


def test_equations_of_functions_with_rules_are_read_by_the_names_of_jax():
    assert equation(halved, TABLE).params["num_consts"] == 0
    params = equation(tripled, TABLE, 2.0).params
    assert params["num_consts"] == 0
    jaxpr, consts, out_zeros = params["jvp_jaxpr_fun"].call_wrapped(False, True)
    assert (consts, out_zeros, len(jaxpr.invars)) == ([], [False], 3)
    out, tangent = core.jaxpr_as_fun(core.ClosedJaxpr(jaxpr, consts))(TABLE, 2.0, TABLE)
    np.testing.assert_allclose(out, 6 * np.sin(TABLE), rtol=1e-6)
    np.testing.assert_allclose(tangent, 6 * np.cos(TABLE) * TABLE, rtol=1e-6)


@pytest.mark.parametrize("f", [lambda x: tripled(x, 2.0), halved], ids=["jvp", "vjp"])
def test_calls_with_rules_are_bound_again_with_the_parameters_of_jax(f):
    eqn = jax.make_jaxpr(f)(jnp.asarray(TABLE)).eqns[-1]
    extra = {"num_consts": eqn.params["num_consts"]}
    others = [atom.val for atom in eqn.invars[1:]]
    again = lambda x: eqn.primitive.bind(x, *others, **eqn.params, **extra)[0]
    np.testing.assert_allclose(again(jnp.asarray(TABLE)), f(TABLE), rtol=1e-6)
    total = lambda g: lambda x: jnp.sum(g(x))
    x = jnp.asarray(TABLE)
    np.testing.assert_allclose(jax.grad(total(again))(x), jax.grad(total(f))(x), rtol=1e-6)

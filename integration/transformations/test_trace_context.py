"""The surroundings that a trace reads are in the key of every cache that stores the trace.

A table with two sides: the settings that a function can read while it is traced, and the ways in
which its trace is cached. Each function is called under one value, another, and the first again.
A setting or a cache without a row fails.
"""

from functools import partial

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import debug, lax
from ricci.custom_batching import custom_vmap
from ricci.experimental import pallas
from ricci.experimental.custom_partitioning import custom_partitioning
from ricci.experimental.pallas import tpu
from ricci.experimental.sparse import sparsify
from ricci.extend import linear_util
from ricci.sharding import AbstractMesh, AxisType, PartitionSpec, auto_axes
from ricci_ir import OPTIONS, axis_size, axis_sizes, config, context, extend_axes, settings_keys

X = np.float32(2.0)
MESH = ricci.make_mesh((1,), ("shards",))
EXPLICIT = ricci.make_mesh((1,), ("shards",), axis_types=(AxisType.Explicit,))
MESHES = [AbstractMesh((size,), ("a",)) for size in (2, 4)]

# For each setting that a trace can read, two values.
OPTION_VALUES = {
    name: (option.default, not option.default)
    for name, option in OPTIONS.items()
    if option.traced and isinstance(option.default, bool) and name != "jax_no_execution"
} | {
    "jax_random_seed_offset": (0, 7),
    "jax_legacy_prng_key": ("allow", "error"),
    "jax_default_prng_impl": ("threefry2x32", "rbg"),
    "jax_explicit_x64_dtypes": ("warn", "allow"),
    "jax_numpy_dtype_promotion": ("standard", "strict"),
    "jax_error_checking_behavior_nan": ("ignore", "raise"),
    "jax_error_checking_behavior_divide": ("ignore", "raise"),
    "jax_error_checking_behavior_oob": ("ignore", "raise"),
    "jax_default_device": (None, ricci.devices()[1]),
    "jax_numpy_rank_promotion": ("allow", "raise"),
    "jax_default_matmul_precision": (None, "highest"),
    "jax_use_magma": ("auto", "off"),
}
CONTEXT_VALUES = {
    "current_mesh": MESHES,
    "varying_axes": (False, True),
    "lenient_sharding": (False, True),
    "operation_metadata": ((), (("a", "b"),)),
    "entered_mesh": (None, MESH),
    "pmap": (None, "an axis"),
    "user_context": ("fast", "exact"),
    "rolled_layers": (False, True),
    "native_kernels": (True, False),
    "rewrite_differentiated": (lambda fun: fun, lambda fun: lambda *xs: fun(*xs)),
    "residual_choice": (None, lambda linearized, num_consts, num_carry: linearized),
    "force_tpu_interpret_mode": (None, tpu.InterpretParams()),
}
USER_CONTEXT = ricci.make_user_context("fast")


def _state(name):
    if name in OPTION_VALUES:
        return config.state(name)
    return next(state for state in reversed(settings_keys.states) if state.name == name)


def _setting(name):
    """Return two blocks that put a setting in force, and a function that reads which one is."""
    state, values = _state(name), [*OPTION_VALUES.get(name, CONTEXT_VALUES.get(name))]
    parsed = [state.parse(value) for value in values]
    return [lambda v=v: state(v) for v in values], lambda: 1.0 + parsed.index(state.value)


def _axes(read, *scopes):
    return [lambda s=s: extend_axes(s.items()) for s in scopes], read


def _is_in_scope():
    try:
        return float(axis_size("i"))
    except NameError:
        return 1.0


SETTINGS = {name: partial(_setting, name) for name in [*OPTION_VALUES, *CONTEXT_VALUES]}
NAMED_AXES = {
    "an axis's size": lambda: _axes(lambda: axis_size("i"), {"i": 2}, {"i": 4}),
    "two axes' size": lambda: _axes(
        lambda: lax.axis_size(("i", "j")), {"i": 2, "j": 3}, {"i": 4, "j": 3}
    ),
    "whether an axis is in scope": lambda: _axes(_is_in_scope, {}, {"i": 4}),
    "the order of axes": lambda: _axes(
        lambda: 1.0 + [*axis_sizes.value].index("i"), {"i": 2, "j": 2}, {"j": 2, "i": 2}
    ),
}


def _scan(f):
    body = lambda carry, _: (f(carry), None)
    return lambda x: lax.scan(body, x, None, length=1)[0]


def _while_loop(f):
    condition, body = lambda v: v[0] < 1, lambda v: (v[0] + 1, f(v[1]))
    return lambda x: lax.while_loop(condition, body, (0, x))[1]


def _while_condition(f):
    condition, body = lambda v: v[0] < f(v[1]), lambda v: (v[0] + 1, v[1])
    return lambda x: lax.while_loop(condition, body, (0, x))[0].astype("float32")


def _fori_loop(f, upper):
    body = lambda _, x: f(x)
    return lambda x: lax.fori_loop(0, upper(1), body, x)


def _custom_jvp(f):
    function = ricci.custom_jvp(f)
    function.defjvp(lambda primals, tangents: (function(*primals), f(*tangents)))
    return function


def _custom_vjp(f):
    function = ricci.custom_vjp(f)
    function.defvjp(lambda x: (f(x), None), lambda _, cotangent: (f(cotangent),))
    return function


def _kernel(f):
    def kernel(x, out):
        out[...] = f(x[...])

    return pallas.pallas_call(kernel, ricci.ShapeDtypeStruct((), np.float32), interpret=True)


def _custom_vmap(f):
    function = custom_vmap(f)
    function.def_vmap(lambda size, batched, x: (ricci.vmap(f)(x), True))
    return function


def _custom_root(f):
    solve = lambda g, _: g(jnp.float32(0.0))
    linear = lambda g, y: y / g(jnp.float32(1.0))
    return lambda x: -lax.custom_root(lambda y: y - f(x), x, solve, linear)


def _linear_solve(f):
    solve = lambda matvec, _: matvec(X)
    return lambda x: lax.custom_linear_solve(f, x, solve)


def _shard_map(f):
    spec = PartitionSpec()
    return ricci.shard_map(f, mesh=MESH, in_specs=spec, out_specs=spec)


def _partitioned(f):
    function = custom_partitioning(f)
    function.def_partition(
        partition=lambda mesh, args, result: (mesh, f, result.sharding, (args[0].sharding,)),
        infer_sharding_from_operands=lambda mesh, args, result: args[0].sharding,
        sharding_rule="... -> ...",
    )
    return function


def _auto_axes(f):
    function = auto_axes(f, out_sharding=PartitionSpec())

    def way(x):
        with ricci.set_mesh(EXPLICIT):
            return function(x)

    return way


def _cached(f):
    function = linear_util.cache(lambda fun, x: fun.call_wrapped(x))
    return lambda x: function(linear_util.wrap_init(f), float(x))


def _gradient(transform):
    """Return the derivative of a linear function's cached form, which is the factor."""

    def way(f):
        function = transform(f)
        return lambda x: x * ricci.grad(function)(x)

    return way


def _through(transform, call=lambda function, x: function(x)):
    """Return a way that transforms a function once, and calls the result each time."""
    return lambda f: partial(call, transform(f))


def _in_vmap(function, x):
    return ricci.vmap(function)(x[None])[0]


def _in_new_jit(function, x):
    return ricci.jit(lambda y: function(y))(x)


WAYS = {
    "jit": ricci.jit,
    "jit of jit": lambda f: ricci.jit(ricci.jit(f)),
    "jit, compiled ahead": _through(ricci.jit, lambda g, x: g.lower(x).compile()(x)),
    "jit inside of vmap": _through(ricci.jit, _in_vmap),
    "jit of a constant inside of vmap": _through(
        ricci.jit, lambda g, x: _in_vmap(lambda y: 0 * y + g(x), x)
    ),
    "jit of a partial": _through(
        lambda f: lambda _, x: f(x), lambda g, x: ricci.jit(ricci.tree_util.Partial(g, 1))(x)
    ),
    "grad of jit": _gradient(ricci.jit),
    "eval_shape": _through(
        lambda f: lambda _: jnp.zeros(int(f(1.0))), lambda g, x: x * ricci.eval_shape(g, x).shape[0]
    ),
    "make_jaxpr": _through(
        ricci.make_jaxpr,
        lambda g, x: ricci.core.eval_jaxpr((jaxpr := g(x)).jaxpr, jaxpr.consts, x)[0],
    ),
    "scan": _scan,
    "grad of scan": _gradient(_scan),
    "while_loop": _while_loop,
    "while_loop's condition": _while_condition,
    "fori_loop": partial(_fori_loop, upper=int),
    "fori_loop of unknown length": partial(_fori_loop, upper=jnp.int32),
    "cond": lambda f: lambda x: lax.cond(x > 0, f, lambda x: x, x),
    "switch": lambda f: lambda x: lax.switch(jnp.int32(1), [lambda x: x, f, f], x),
    "map": lambda f: lambda x: lax.map(f, x[None])[0],
    "associative_scan": lambda f: (
        lambda x: lax.associative_scan(lambda a, b: f(b), jnp.stack([x, x]))[1]
    ),
    "reduce": _through(
        lambda f: lambda a, b: f(jnp.ones_like(a)),
        lambda g, x: x * lax.reduce(jnp.stack([x, x]), x, g, (0,)),
    ),
    "checkpoint": ricci.checkpoint,
    "grad of checkpoint": _gradient(ricci.checkpoint),
    "custom_jvp": _custom_jvp,
    "jit of custom_jvp": _through(_custom_jvp, _in_new_jit),
    "grad of custom_jvp": _gradient(_custom_jvp),
    "custom_vjp": _custom_vjp,
    "jit of custom_vjp": _through(_custom_vjp, _in_new_jit),
    "grad of custom_vjp": _gradient(_custom_vjp),
    "custom_vmap": _through(_custom_vmap, _in_vmap),
    "custom_root": _custom_root,
    "custom_linear_solve": _linear_solve,
    "linearize": lambda f: lambda x: ricci.linearize(f, x)[1](x),
    "vectorize": jnp.vectorize,
    "apply at an index": lambda f: lambda x: jnp.stack([x, x]).at[0].apply(f)[0],
    "shard_map": _shard_map,
    "jit of shard_map": lambda f: ricci.jit(_shard_map(f)),
    "pmap": _through(ricci.pmap, lambda g, x: g(x[None])[0]),
    "custom_partitioning": _partitioned,
    "auto_axes": _auto_axes,
    "pallas_call": _kernel,
    "bucketed": _through(ricci.bucketed, lambda g, x: g(x[None])[0]),
    "sparsify": sparsify,
    "a cache of a library's own": _cached,
}
# Ways that put a value of their own in force.
OVERRIDES = {
    "shard_map": ("current_mesh", "varying_axes"),
    "jit of shard_map": ("current_mesh", "varying_axes"),
    "pmap": ("current_mesh", "varying_axes", "pmap"),
    "auto_axes": ("current_mesh",),
}
PAIRS = [(way, name) for way in WAYS for name in SETTINGS if name not in OVERRIDES.get(way, ())]


def _check_two_surroundings(way, blocks, number):
    function = WAYS[way](lambda x: x * number())
    for index in (0, 1, 0):
        with blocks[index]():
            expected = X * number()
            result = np.asarray(function(jnp.asarray(X)))
        assert result == expected


@pytest.mark.sampled(29)
@pytest.mark.parametrize("read", NAMED_AXES)
@pytest.mark.parametrize("way", WAYS)
def test_a_cached_trace_holds_for_the_named_axes_that_it_read(way, read):
    _check_two_surroundings(way, *NAMED_AXES[read]())


@pytest.mark.sampled(18)
@pytest.mark.parametrize(("way", "name"), PAIRS)
def test_a_cached_trace_holds_for_the_setting_that_it_read(way, name):
    _check_two_surroundings(way, *SETTINGS[name]())


@pytest.mark.sampled(15)
@pytest.mark.parametrize("way", ["jit", "scan", "fori_loop", "while_loop", "cond", "checkpoint"])
@pytest.mark.parametrize(
    ("collective", "expected"),
    [
        (lambda x: lax.pmean(x, "i"), lambda n: 1.0),
        (lambda x: x * lax.psum(1, "i"), lambda n: n),
        (lambda x: x * lax.all_gather(x, "i").size, lambda n: n),
        (lambda x: x + lax.psum(x, "i"), lambda n: n + 1.0),
    ],
)
def test_collectives_in_cached_functions_under_two_sizes_of_vmap(way, collective, expected):
    function = ricci.vmap(WAYS[way](collective), axis_name="i")
    for size in (2, 4, 2):
        np.testing.assert_array_equal(function(jnp.ones(size)), np.full(size, expected(size)))


# Caches of users' functions, each filled by ways of the table.
OF_USERS = {
    "applied functions",
    "bodies of loops and branches",
    "bucketed functions",
    "calls known to C++",
    "computations of reductions",
    "forms of programs",
    "functions under other axis types",
    "functions with a partitioning",
    "functions with custom rules",
    "kernels",
    "programs of jit",
    "programs of xla_computation",
    "programs on shards",
    "results by wrapped function",
    "scatter combiners",
}
# Caches of Ricci's own functions and of single operations, which read settings and no named axes,
# and of what follows from types and values alone.
OF_RICCI = {
    "applied operations",
    "approximate top k",
    "array types",
    "composite functions",
    "constants",
    "divisions",
    "einsum",
    "einsum subscripts",
    "first calls",
    "first calls of promoted operands",
    "functions by platform",  # the position of one, for the backend and the settings
    "functions of linear solves",  # found by the jaxpr of each new trace
    "index steps",
    "layouts",
    "partition specs",
    "products",
    "jaxprs of generators",
    "programs of one equation",
    "jaxprs of sparse operations",
    "promotions",
    "public functions",
    "rows",
    "samplers",
    "single operations",
    "sums",
    "types of examples",
    "types of results",
    "undispatched calls",
    "written types",
    "zero tangents",
}


def test_every_cache_is_classified():
    functions = [way(lambda x: 2 * x) for way in WAYS.values()]
    for function in functions:
        function(jnp.asarray(X))
    names = set(debug.caches())
    assert names <= OF_USERS | OF_RICCI
    assert len(names & OF_USERS) >= 10


def test_every_setting_that_traces_depend_on_is_read():
    gives_no_values = {"jax_no_execution"}
    states = {state.name for state in settings_keys.states}
    assert states - gives_no_values <= SETTINGS.keys()


def test_every_value_of_the_thread_s_context_is_classified():
    relative = {"name_stack", "origin"}  # an equation's, relative to its own jaxpr
    # values that no function sees
    of_tracing = {"trace", "put_aside", "observers", "temporary_caches"}
    assert {name for name in vars(type(context)) if not name.startswith("__")} == (
        relative | of_tracing
    )

"""``shard_map``: functions of shards, their types, derivatives and errors."""

import numpy as np
import pytest

from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_ir import make_jaxpr
from ricci_lax import add, cond, dot, full_like, mul, reduce_sum, scan, sin
from ricci_parallel import set_mesh, shard_map, smap
from ricci_xla import Mesh, PartitionSpec, devices, jit

P = PartitionSpec
x = np.arange(32, dtype=np.float32).reshape(8, 4)


@pytest.fixture
def mesh():
    return Mesh(np.array(devices("cpu")[:8]).reshape(2, 4), ("x", "y"))


def types(fun, *args):
    """The types of the results of all equations of the program on shards."""
    jaxpr = make_jaxpr(fun)(*args)
    (eqn,) = (e for e in jaxpr.eqns if e.primitive.name == "shard_map")
    return [v.aval.str_short(True) for e in eqn.params["jaxpr"].eqns for v in e.outvars]


def test_shards_are_computed_with(mesh):
    double = shard_map(lambda s: add(s, s), mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y"))
    for fun in (double, jit(double), double):
        out = fun(x)
        np.testing.assert_array_equal(out, 2 * x)
        assert out.sharding.spec == P("x", "y")


@pytest.mark.parametrize("spec", [P(None), P(None, None), P("x", None), P("one"), P(None, "one")])
def test_a_result_names_the_spec_as_it_is_written(spec):
    mesh = Mesh(np.array(devices("cpu")[:2]).reshape(2, 1), ("x", "one"))
    fun = shard_map(lambda s: add(s, s), mesh=mesh, in_specs=spec, out_specs=spec)
    for _ in range(2):
        out = fun(x)
        assert out.sharding.spec == spec
        np.testing.assert_array_equal(out, 2 * x)


def test_operands_vary_alike(mesh):
    fun = shard_map(mul, mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x"))
    assert types(fun, x, x[:4]) == ["f32[4,4]{V:x}", "f32[4,4]{V:x}"]
    np.testing.assert_array_equal(fun(x, x[:4]), x * np.concatenate([x[:4]] * 2))


def test_the_cotangent_of_a_shared_argument_is_summed_once(mesh):
    fun = shard_map(
        lambda a, w: sin(dot(a, w)), mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x")
    )
    w = np.eye(4, dtype=np.float32)
    loss = lambda w: reduce_sum(fun(x, w), (0, 1))
    plain = grad(lambda w: reduce_sum(sin(dot(x, w)), (0, 1)))(w)
    np.testing.assert_allclose(grad(loss)(w), plain, rtol=1e-5)
    text = jit(grad(loss)).lower(w).compile().as_text()
    assert text.count(" all-reduce(") == 1


def test_without_types_the_derivative_is_the_same(mesh):
    fun = shard_map(
        lambda a, w: sin(dot(a, w)),
        mesh=mesh,
        in_specs=(P("x"), P()),
        out_specs=P("x"),
        check_vma=False,
    )
    w = np.eye(4, dtype=np.float32)
    plain = grad(lambda w: reduce_sum(sin(dot(x, w)), (0, 1)))(w)
    np.testing.assert_allclose(grad(lambda w: reduce_sum(fun(x, w), (0, 1)))(w), plain, rtol=1e-5)


def test_branches_vary_alike(mesh):
    def on_shards(s):
        return cond(True, lambda a: a, lambda a: full_like(a, 0), s)

    fun = shard_map(on_shards, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    np.testing.assert_array_equal(fun(x), x)


def test_a_carry_that_begins_to_vary_is_refused_with_advice(mesh):
    def on_shards(s):
        return scan(lambda c, a: (add(c, a), a), np.zeros(4, np.float32), s)[0]

    with pytest.raises(TypeError, match=r"pcast\(x, \('x',\), to='varying'\)"):
        shard_map(on_shards, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)


def test_nested_programs_work_on_other_axes(mesh):
    def inner(s):
        return add(s, s)

    def outer(s):
        return shard_map(inner, in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"})(s)

    fun = shard_map(outer, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    np.testing.assert_array_equal(jit(fun)(x), 2 * x)


def test_batches_are_sharded_over_spmd_axis_name(mesh):
    fun = shard_map(lambda s: add(s, s), mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    xs = np.stack([x] * 4)
    np.testing.assert_array_equal(vmap(fun)(xs), 2 * xs)
    spread = vmap(fun, spmd_axis_name="y")
    np.testing.assert_array_equal(spread(xs), 2 * xs)
    assert types(spread, xs) == ["f32[1,4,4]{V:(x,y)}"]


def test_the_mesh_in_force_is_used(mesh):
    with set_mesh(mesh):
        fun = shard_map(lambda s: add(s, s), in_specs=P("x"), out_specs=P("x"))
        np.testing.assert_array_equal(fun(x), 2 * x)
        along = smap(lambda s: add(s, s), in_axes=0, out_axes=0, axis_name="x")
        np.testing.assert_array_equal(along(x), 2 * x)


def test_eager_shard_map_retraces_and_compiles_once(mesh):
    calls, scale = [], [2.0]

    def on_shards(s):
        calls.append(s)
        return mul(s, np.float32(scale[0]))

    fun = shard_map(on_shards, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    np.testing.assert_array_equal(fun(x), 2 * x)
    np.testing.assert_array_equal(fun(x), 2 * x)
    assert len(calls) == 2
    scale[0] = 3.0
    np.testing.assert_array_equal(fun(x), 3 * x)


_identity = {"in_specs": P("x"), "out_specs": P("x")}


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        ({"in_specs": P("x", "y", None)}, "too long for argument s"),
        ({"in_specs": P("z")}, "refers to the axis 'z'"),
        ({"out_specs": P("z")}, "refers to the axis 'z'"),
        ({"out_specs": P("x", "y", None)}, "too long for the result"),
        ({"out_specs": P()}, "psum(x, 'x')"),
        ({"axis_names": {"q"}}, "must be a subset of the mesh's axes"),
        ({"in_specs": P("y"), "out_specs": P("y"), "axis_names": {"x"}}, "refers to the axis 'y'"),
        ({"in_specs": (P("x"), P("x"))}, "in_specs"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(mesh, specs, words):
    fun = shard_map(lambda s: s, mesh=mesh, **{**_identity, **specs})
    with pytest.raises(ValueError, match="shard_map") as error:
        fun(x)
    assert words in str(error.value)
    assert len(str(error.value).splitlines()) <= 12
    np.testing.assert_array_equal(shard_map(lambda s: s, mesh=mesh, **_identity)(x), x)


def test_indivisible_sizes_are_refused_with_a_spec_that_fits(mesh):
    fun = shard_map(lambda s: s, mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y"))
    with pytest.raises(ValueError, match=r"axis 0 of argument s.*not evenly divisible by 2") as e:
        fun(x[:7])
    assert "P(None, 'y')" in str(e.value)


def test_without_a_mesh_it_is_refused():
    with pytest.raises(ValueError, match="context mesh cannot be empty"):
        shard_map(lambda s: s, in_specs=P("x"), out_specs=P("x"))(x)

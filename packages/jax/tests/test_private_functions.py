"""Private functions without a public form, called as the libraries do that use them."""

import gc
import weakref

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._src import core, lib, sharding_impls
from jax._src.lax import control_flow
from jax._src.numpy import einsum as private_einsum
from jax._src.numpy import util
from jax._src.random import prng, threefry2x32
from jax._src.typing import ArrayLike, DTypeLike, SupportsDType
from jax._src.util import weakref_lru_cache
from jax.sharding import AxisType, NamedSharding, PartitionSpec

INTS, HALVES = jnp.arange(2), jnp.ones(2, jnp.bfloat16)
PROMOTED = [  # operands, and the dtypes of the four functions for them, as JAX's
    ((1, 2.5), "float32 float32 float32 complex64"),
    ((np.float32(1), 2), "float32 float32 float32 complex64"),
    ((INTS, True), "int32 float32 int32 complex64"),
    ((True, False), "bool float32 int32 complex64"),
    ((1, 1j), "complex64 complex64 complex64 complex64"),
    ((np.arange(2),), "int32 float32 int32 complex64"),
    ((HALVES, 1), "bfloat16 bfloat16 bfloat16 complex64"),
]


@pytest.mark.parametrize(("operands", "dtypes"), PROMOTED)
def test_promoted_operands_are_arrays_of_one_dtype(operands, dtypes):
    for kind, dtype in zip(("", "_inexact", "_numeric", "_complex"), dtypes.split(), strict=True):
        promote = getattr(util, f"promote_dtypes{kind}")
        for call in (promote, jax.jit(promote)):
            results = call(*operands)
            assert isinstance(results, list)
            assert all(isinstance(x, jax.Array) and x.dtype == dtype for x in results)
            assert [x.shape for x in results] == [np.shape(x) for x in operands]


def test_promoted_python_scalars_stay_weakly_typed():
    assert all(x.weak_type for x in util.promote_dtypes_complex(1, 2.5))
    assert not util.promote_dtypes_inexact(np.float32(1), 2)[1].weak_type


def test_checked_operands_are_arrays():
    one, (first, second) = util.ensure_arraylike("f", 1), util.ensure_arraylike("f", 1, INTS)
    assert (one.shape, first.weak_type, second.shape) == ((), True, (2,))
    with pytest.raises(TypeError, match="f"):
        util.ensure_arraylike("f", [1])


def einsum(subscripts, *operands, dot_general):  # as aqt writes it
    arrays, contractions = private_einsum._default_poly_einsum_handler(
        subscripts, *operands, einsum_call=True, use_blas=True, optimize="optimal"
    )
    contractions = tuple((a, frozenset(b), c) for a, b, c, *_ in contractions)
    run = jax.named_call(private_einsum._einsum, name=subscripts)
    return run(arrays, contractions, None, None, dot_general)


@pytest.mark.parametrize("subscripts", ["ij,jk->ik", "ij,jk->ki", "ij,jk,kl->il", "ij->j"])
def test_einsum_in_steps_calls_the_product_that_it_is_given(subscripts):
    arrays = [jnp.arange(6.0).reshape(2, 3), jnp.ones((3, 4)), jnp.ones((4, 2))]
    operands = arrays[: subscripts.count(",") + 1]
    products = []

    def dot_general(*args, **kwargs):
        products.append(args)
        return jax.lax.dot_general(*args, **kwargs)

    result = einsum(subscripts, *operands, dot_general=dot_general)
    np.testing.assert_allclose(result, np.einsum(subscripts, *map(np.asarray, operands)))
    assert len(products) == subscripts.count(",")


def test_an_unspecified_sharding_is_left_to_the_compiler():
    unspecified = sharding_impls.UNSPECIFIED
    assert isinstance(unspecified, sharding_impls.UnspecifiedValue) and bool(unspecified)
    for shardings in (unspecified, (unspecified, None)):
        f = jax.jit(lambda x, y: x + y, in_shardings=shardings, out_shardings=unspecified)
        assert f(1.0, 2.0) == 3.0
        assert jax.jit(f)(1.0, 2.0) == 3.0


def test_a_sharding_of_a_type_is_none_without_a_mesh():
    canonical = lambda sharding: sharding_impls.canonicalize_sharding(sharding, "map")
    assert canonical(None) is None and canonical(jax.typeof(INTS).sharding) is None
    with pytest.raises(TypeError, match="map"):
        canonical(jax.sharding.SingleDeviceSharding(jax.devices()[0]))
    mesh = jax.make_mesh((1,), ("i",), axis_types=(AxisType.Explicit,))
    expected = NamedSharding(mesh.abstract_mesh, PartitionSpec("i"))
    assert canonical(NamedSharding(mesh, PartitionSpec("i"))) == expected
    with jax.set_mesh(mesh):
        assert canonical(PartitionSpec("i")) == expected
    meshes = expected.mesh, jax.typeof(INTS).sharding.mesh
    assert [mesh._any_axis_explicit for mesh in meshes] == [True, False]


def test_a_weak_cache_recomputes_in_another_context_and_drops_dead_keys():
    calls = []

    class Key:
        pass

    @weakref_lru_cache
    def compute(key, other):
        calls.append(other)
        return other

    key = Key()
    assert [compute(key, 1), compute(key, 1), compute(key, 2)] == [1, 1, 2] and calls == [1, 2]
    with jax.enable_x64(True):
        compute(key, 1)
    assert calls == [1, 2, 1]
    reference = weakref.ref(key)
    del key
    gc.collect()
    assert reference() is None


def test_names_that_libraries_reach_through_a_module():
    assert isinstance(jax.jit(jnp.sin), lib._jax.PjitFunction)
    assert issubclass(jax.errors.JaxRuntimeError, lib.xla_client.XlaRuntimeError)
    assert isinstance(lib.jaxlib_extension_version, int)
    assert core.concrete_or_error(int, 3.0, "steps") == 3
    assert control_flow.scan(lambda c, x: (c + x, x), 0.0, jnp.ones(3))[0] == 3.0
    assert all(kind is not None for kind in (ArrayLike, DTypeLike, SupportsDType))
    eqn = jax.make_jaxpr(lambda x: x + 1.0)(1.0).eqns[0]
    assert eqn.replace(primitive=jax.lax.sub_p).primitive is jax.lax.sub_p


def test_a_registered_generator_is_selected_by_its_name():
    impl = prng.PRNGImpl(
        key_shape=(2,),
        seed=threefry2x32.threefry_seed,
        split=threefry2x32.threefry_split,
        random_bits=threefry2x32.threefry_random_bits,
        fold_in=threefry2x32.threefry_fold_in,
        name="words_of_threefry",
        tag="wot",
    )
    prng.register_prng(impl)
    key, same = jax.random.key(3, impl="words_of_threefry"), jax.random.key(3, impl="threefry2x32")
    assert str(key.dtype) == "key<wot>"
    for draw in (jax.random.bits, lambda k: jax.random.normal(jax.random.split(k)[1], 3)):
        for run in (draw, jax.jit(draw), draw):
            np.testing.assert_array_equal(run(key), run(same))

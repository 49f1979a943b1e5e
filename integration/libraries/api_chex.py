"""Chex: what its assertions let pass and refuse, dataclasses, variants, fake transformations."""

import unittest
from functools import partial

import chex
import numpy as np

import jax
import jax.numpy as jnp


def passes(assertion, *arguments, **options):
    """True where the assertion passes, else the first line of its message."""
    try:
        assertion(*arguments, **options)
    except (AssertionError, ValueError, TypeError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:60]}"
    return True


TWO, THREE = jnp.ones((2, 3)), jnp.ones((3, 2))
TREE = {"a": TWO, "b": [THREE, jnp.arange(3)]}
OTHER = {"a": TWO + 1e-7, "b": [THREE, jnp.arange(3)]}
ASSERTIONS = {
    "shape": (chex.assert_shape, TWO, (2, None)),
    "shape wrong": (chex.assert_shape, TWO, (2, 2)),
    "shape ellipsis": (chex.assert_shape, [TWO, jnp.ones((2, 5, 3))], (2, ..., 3)),
    "rank": (chex.assert_rank, [TWO, jnp.ones(3)], [2, {1, 2}]),
    "rank wrong": (chex.assert_rank, TWO, 3),
    "equal shape": (chex.assert_equal_shape, [TWO, TWO]),
    "equal shape wrong": (chex.assert_equal_shape, [TWO, THREE]),
    "equal shape prefix": (chex.assert_equal_shape_prefix, [TWO, jnp.ones((2, 5))], 1),
    "equal rank": (chex.assert_equal_rank, [TWO, THREE]),
    "equal size": (chex.assert_equal_size, [TWO, THREE]),
    "type": (chex.assert_type, [TWO, 1], [jnp.float32, int]),
    "type wrong": (chex.assert_type, TWO, jnp.int32),
    "axis dimension": (chex.assert_axis_dimension, TWO, 1, 3),
    "axis dimension gt": (chex.assert_axis_dimension_gt, TWO, 1, 3),
    "divisible": (chex.assert_is_divisible, 6, 4),
    "scalar": (chex.assert_scalar_positive, -1.0),
    "scalar in": (chex.assert_scalar_in, 0.5, 0, 1),
    "is broadcastable": (chex.assert_is_broadcastable, (2, 1), (2, 3)),
    "not none": (chex.assert_not_both_none, None, None),
    "numerical grads": (chex.assert_numerical_grads, jnp.sin, (jnp.float32(1),), 1),
    "trees close": (chex.assert_trees_all_close, TREE, OTHER),
    "trees equal": (chex.assert_trees_all_equal, TREE, OTHER),
    "trees same": (chex.assert_trees_all_equal, TREE, TREE),
    "trees structs": (chex.assert_trees_all_equal_structs, TREE, {"a": 1}),
    "trees shapes": (chex.assert_trees_all_equal_shapes, TREE, OTHER),
    "trees dtypes": (chex.assert_trees_all_equal_dtypes, TREE, OTHER),
    "finite": (chex.assert_tree_all_finite, {"a": jnp.array([1.0, jnp.nan])}),
    "no nones": (chex.assert_tree_no_nones, {"a": None}),
    "shape prefix": (chex.assert_tree_shape_prefix, {"a": TWO}, (2,)),
    "has only ndarrays": (chex.assert_tree_has_only_ndarrays, TREE),
    "on host": (chex.assert_tree_is_on_host, {"a": np.ones(2)}),
    "on device": (chex.assert_tree_is_on_device, TREE),
    "devices": (chex.assert_devices_available, 1, "cpu"),
    "tpu": (chex.assert_tpu_available,),
    "dimensions": (chex.assert_equal, chex.Dimensions(B=2, N=3)["BN"], (2, 3)),
}


@chex.dataclass
class Pair:
    left: chex.Array
    right: chex.Array = None


@chex.dataclass(mappable_dataclass=False, frozen=True)
class Frozen:
    value: chex.Array


def dataclasses():
    pair = Pair(left=jnp.arange(3.0), right=jnp.ones(2))
    doubled = jax.jit(lambda p: jax.tree.map(lambda x: x * 2, p))(pair)
    batch = jax.vmap(lambda p: p.replace(left=p.left + 1))(Pair(left=TWO, right=TWO))
    return doubled, doubled["left"], sorted(pair.keys()), pair.to_tuple(), batch, Frozen(value=TWO)


def traces():
    chex.clear_trace_counter()

    @jax.jit
    @chex.assert_max_traces(n=1)
    def function(x):
        return x + 1

    function(jnp.ones(2))
    return passes(function, jnp.ones(3))


def chexify():
    @chex.chexify
    @jax.jit
    def function(x):
        chex.assert_trees_all_close(x, x + 0.0)
        chex.assert_tree_all_finite(x)
        return x / 2

    return passes(function, jnp.array([1.0, 2.0])), passes(
        lambda x: (function(x), function.wait_checks()), jnp.array([1.0, jnp.inf])
    )


def with_fakes():
    with chex.fake_jit(), chex.fake_pmap():
        return jax.pmap(jax.jit(lambda x: jax.lax.psum(x, "i")), axis_name="i")(jnp.arange(3.0))


class Variants(chex.TestCase):
    @chex.variants(with_jit=True, without_jit=True, with_device=True, without_device=True)
    def test(self):
        result = self.variant(lambda x: x * 2)(jnp.arange(3.0))
        np.testing.assert_allclose(result, [0, 2, 4])

    @chex.all_variants
    def test_all(self):
        self.assertEqual(self.variant(lambda x: x.sum())(jnp.ones(3)), 3.0)


def variants():
    suite = unittest.TestLoader().loadTestsFromTestCase(Variants)
    result = unittest.TestResult()
    suite.run(result)
    return result.testsRun, len(result.failures), len(result.errors), len(result.skipped)


CASES = {f"assert {name}": partial(passes, *call) for name, call in ASSERTIONS.items()} | {
    "dataclass": dataclasses,
    "max traces": traces,
    "chexify": chexify,
    "fakes": with_fakes,
    "variants": variants,
    "create deprecated": lambda: chex.ArrayDevice is not None,
    "tree flatten": lambda: jax.tree.flatten(Pair(left=1, right=2)),
    "PRNG": lambda: isinstance(jax.random.key(0), chex.PRNGKey),
    "array type": lambda: isinstance(TWO, chex.Array),
    "params product": lambda: list(chex.params_product((("a", 1),), (("b", 2), ("c", 3)))),
}

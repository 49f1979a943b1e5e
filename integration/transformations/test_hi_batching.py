"""The functions with which batching rules of users' own operations are written."""

import numpy as np
import pytest

from ricci import jit, typeof, vmap
from ricci import numpy as jnp
from ricci.experimental import hijax

X = np.arange(6.0, dtype=np.float32).reshape(2, 3)
Y = np.array([2.0, 5.0], np.float32)


class Product(hijax.HiPrim):
    """A product whose batching rule is given."""

    def __init__(self, aval, rule):
        self.in_avals = (aval, aval)
        self.out_aval = aval
        self.params = {"rule": rule}
        super().__init__()

    def expand(self, x, y):
        return x * y

    def batch(self, axis_data, args, dims):
        return self.params["rule"](self, axis_data, args, dims)


def by_front(prim, axis, args, dims):
    x, y = hijax.bdims_at_front(axis, args, dims)
    return x * y, 0


def by_mapping(out_dim):
    def rule(prim, axis, args, dims):
        return hijax.vmap_rule(axis, prim.expand, dims, out_dim)(*args), out_dim

    return rule


def by_types(prim, axis, args, dims):
    types = hijax.unmap_avals(axis, prim.in_avals, dims)
    assert types == tuple(map(typeof, args))
    return by_front(prim, axis, args, dims)


def by_sum(prim, axis, args, dims):
    return hijax.vmap_rule(axis, prim.expand, dims, None, sum_match=True)(*args), None


def product(rule):
    return lambda x, y: Product(typeof(x), rule)(x, y)


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    "rule", [by_front, by_mapping(0), by_mapping(1), by_types], ids=["front", "0", "1", "types"]
)
@pytest.mark.parametrize("axis_name", [None, "i"])
def test_batching_rules_move_map_and_type_their_batches(wrap, rule, axis_name):
    run = wrap(vmap(product(rule), (1, None), axis_name=axis_name))
    for _ in range(2):
        np.testing.assert_array_equal(run(jnp.asarray(X), jnp.asarray(Y)), X.T * Y)


def test_mapped_rules_sum_what_is_asked_without_a_batch_dimension():
    run = vmap(product(by_sum), (1, None), None)
    np.testing.assert_array_equal(run(jnp.asarray(X), jnp.asarray(Y)), (X.T * Y).sum(0))

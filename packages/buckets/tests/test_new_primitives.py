"""Primitives without an entry in the table of padding rules, in bucketed functions."""

import numpy as np
import pytest

import ricci_lax as lax
from ricci_autodiff import not_linear
from ricci_batching import elementwise
from ricci_buckets import PaddingError, bucketed, padding, padding_rules, padding_stays
from ricci_ir import KeyRole, by_element, define, key_roles, primitives, unsharded, unsupported
from ricci_stablehlo import traced

random = pytest.importorskip("ricci_random", reason="its keys are drawn from")
X = np.arange(1.0, 4, dtype=np.float32)


@pytest.fixture(autouse=True)
def _extreme_padding():
    padding.extreme = True
    yield
    padding.extreme = False


@pytest.fixture
def block():
    """Define primitives with the required rules alone, for the length of a test."""
    primitives.load_all()
    names = set(primitives)

    def bare(name, fun, abstract_eval=lambda x: x, **rules):
        rules = {
            "jvp": unsupported("not needed here"),
            "transpose": not_linear,
            "batch": unsupported("not needed here"),
            "sharding": unsharded(),
            **rules,
        }
        return define(name, abstract_eval=abstract_eval, lower=traced(fun), **rules)

    yield bare
    for name in set(primitives) - names:
        del primitives[name]


def test_an_elementwise_primitive_is_padded(block):
    p = block("bare_elementwise", lax.neg, batch=elementwise, sharding=by_element)
    np.testing.assert_array_equal(bucketed(p.bind, sizes=[4])(X), -X)


def test_another_primitive_is_applied_to_unpadded_values_and_refused_on_padded_ones(block):
    p = block("bare_other", lax.neg)
    assert float(bucketed(lambda x: p.bind(lax.reduce_sum(x, (0,))), sizes=[4])(X)) == -6
    with pytest.raises(PaddingError, match="bare_other has no rule for padding"):
        bucketed(p.bind, sizes=[4])(X)


def test_an_entry_in_the_table_is_used(block, monkeypatch):
    p = block("bare_with_entry", lax.neg)
    monkeypatch.setitem(padding_rules, p, padding_stays)
    np.testing.assert_array_equal(bucketed(p.bind, sizes=[4])(X), -X)


def test_a_primitive_that_draws_needs_no_entry(block, monkeypatch):
    key = random.key(0)
    draw = lambda keys, x: lax.mul(x, random.uniform(keys, x.shape))
    p = block("bare_draw", draw, lambda keys, x: x)
    monkeypatch.setitem(key_roles, p, KeyRole.DRAW)
    np.testing.assert_array_equal(bucketed(lambda x: p.bind(key, x), sizes=[4])(X), draw(key, X))


@pytest.mark.parametrize("single", [False, True])
def test_gamma_samples_do_not_depend_on_padding(single):
    key = random.key(0)

    def draw(x):
        keys = key if single else random.split(key, x.shape[0])
        return random.random_gamma_p.bind(keys, x, log_space=False)

    np.testing.assert_array_equal(bucketed(draw, sizes=[8])(X), draw(X))

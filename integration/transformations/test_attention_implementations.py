"""Attention of ``nn`` by kernels beside its ordinary operations: values and gradients."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp

pytest.importorskip("ricci_xla", reason="values are computed by a backend")

RANDOM = np.random.default_rng(0)
LENGTHS = np.array([10, 7], np.int32)
OPTIONS = {
    "causal": {"is_causal": True, "return_residual": True},
    "lengths": {"query_seq_lengths": LENGTHS, "key_value_seq_lengths": np.array([12, 5], np.int32)},
    "bias, mask, window": {
        "bias": RANDOM.standard_normal((4, 10, 1)).astype(np.float32),
        "mask": RANDOM.random(12) > 0.2,
        "local_window_size": (6, 8),
        "scale": 0.5,
    },
}


def normal(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("name", OPTIONS)
def test_attention_by_kernels_is_that_by_ordinary_operations(name):
    operands = normal(2, 10, 4, 8), normal(2, 12, 2, 8), normal(2, 12, 2, 8)

    def results(implementation):
        def total(*xs):
            out = ricci.nn.dot_product_attention(
                *xs, implementation=implementation, **OPTIONS[name]
            )
            return sum(jnp.sum(x**2) for x in ricci.tree.leaves(out)), out

        return ricci.jit(ricci.value_and_grad(total, (0, 1, 2), has_aux=True))(*operands)

    pairs = zip(*[ricci.tree.leaves(results(kind)) for kind in ("pallas", "xla")], strict=True)
    for x, y in pairs:
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def test_attention_by_kernels_takes_operands_without_a_batch():
    operands = normal(10, 4, 8), normal(12, 2, 8), normal(12, 2, 8)
    results = [
        ricci.nn.dot_product_attention(*operands, implementation=kind) for kind in ("pallas", "xla")
    ]
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-6)

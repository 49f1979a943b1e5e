"""Attention: its operations, and its values beside NumPy's."""

import numpy as np
import pytest

import ricci_ir as ir
import ricci_nn as nn

pytest.importorskip("ricci_xla", reason="values are computed by a backend")

SHAPES = {"heads": ((2, 6, 4, 8), (2, 5, 4, 8)), "groups": ((2, 6, 4, 8), (2, 5, 2, 8))}


def values(*shape):
    return np.random.RandomState(sum(shape)).randn(*shape).astype(np.float32)


def attention_by_numpy(query, key, value, bias=0.0, mask=True):
    repeats = query.shape[2] // key.shape[2]
    key, value = (np.repeat(x, repeats, axis=2) for x in (key, value))
    logits = np.einsum("btnh,bsnh->bnts", query, key) / np.sqrt(query.shape[-1]) + bias
    weights = np.exp(np.where(mask, logits, -np.inf))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bnts,bsnh->btnh", weights, value)


@pytest.mark.parametrize("case", SHAPES)
@pytest.mark.parametrize("masked", [False, True])
def test_logits_are_not_transposed(case, masked):
    query, key = (values(*shape) for shape in SHAPES[case])
    attend = lambda q, k: nn.dot_product_attention(q, k, k, is_causal=masked)
    jaxpr = ir.make_jaxpr(attend)(query, key).jaxpr
    transposed = [e.invars[0].aval.shape for e in jaxpr.eqns if e.primitive.name == "transpose"]
    groups = 4 // key.shape[2]
    assert transposed == [(2, 4 // groups, 6, groups, 8)]


@pytest.mark.parametrize("case", SHAPES)
@pytest.mark.parametrize("heads", [1, 4])
def test_a_bias_and_a_mask_are_of_the_heads_of_the_queries(case, heads):
    query, key = (values(*shape) for shape in SHAPES[case])
    bias = values(2, heads, 6, 5)
    mask = values(1, heads, 6, 5) > -0.5
    mask[..., 0] = True
    attended = nn.dot_product_attention(query, key, 2 * key, bias, mask)
    expected = attention_by_numpy(query, key, 2 * key, bias, mask)
    np.testing.assert_allclose(attended, expected, rtol=2e-5, atol=2e-6)


def test_cudnn_is_refused_on_other_devices():
    query = np.ones((2, 6, 4, 8), np.float16)
    with pytest.raises(NotImplementedError, match="for NVIDIA GPUs, not for 'cpu'"):
        nn.dot_product_attention(query, query, query, implementation="cudnn")

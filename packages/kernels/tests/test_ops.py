"""Ready-made kernels beside plain formulas: values, gradients, and transformations."""

from functools import partial
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
import ricci_reference as reference
import ricci_xla as xla
from ricci_batching import vmap
from ricci_kernels import ops
from ricci_kernels.ops._folds import Fold, Place, _clamped
from ricci_kernels.ops._targets import Target

SERIAL, PARALLEL = Target(False, True), Target(True, True)
RANDOM = np.random.default_rng(0)
SEGMENTS = np.repeat([0, 1, 3], [4, 5, 2])[None].astype(np.int32)
KEY_SEGMENTS = np.repeat([0, 1, 2], [3, 7, 3])[None].astype(np.int32)
MASK = RANDOM.random((1, 4, 11, 13)) < 0.7


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def attention(q, k, v, bias=None, *, mask=None, cap=None, left=None, right=None, segments=False):
    """Attention that writes its logits; queries without any key have the result 0."""
    repeats = q.shape[2] // k.shape[2]
    k, v = (jnp.repeat(x, repeats, axis=2) for x in (k, v))
    logits = jnp.einsum("btnh,bsnh->bnts", q, k) * q.shape[-1] ** -0.5
    logits = logits if cap is None else cap * jnp.tanh(logits / cap)
    logits = logits if bias is None else logits + bias
    distance = jnp.arange(k.shape[1])[None, :] - jnp.arange(q.shape[1])[:, None]
    allowed = jnp.ones(logits.shape, bool) if mask is None else jnp.broadcast_to(mask, logits.shape)
    if left is not None:
        allowed &= distance >= -left
    if right is not None:
        allowed &= distance <= right
    if segments:
        allowed &= (SEGMENTS[:, :, None] == KEY_SEGMENTS[:, None, :])[:, None]
    logits = jnp.where(allowed, logits, -1e30)
    weights = jnp.exp(logits - logits.max(-1, keepdims=True)) * allowed
    weights = weights / jnp.maximum(weights.sum(-1, keepdims=True), 1e-30)
    return jnp.einsum("bnts,bsnh->btnh", weights, v)


def normalized(x, weight=None, bias=None, *, is_centered, eps=1e-5):
    x = x - x.mean(-1, keepdims=True) if is_centered else x
    x = x / jnp.sqrt((x * x).mean(-1, keepdims=True) + eps)
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def softmax(x, axis=-1):
    weights = jnp.exp(x - x.max(axis, keepdims=True))
    return weights / weights.sum(axis, keepdims=True)


def grouped(x, y, *, sizes):
    group = np.repeat(np.arange(len(sizes)), sizes)
    rows = jnp.einsum("mk,mkn->mn", x[: len(group)], y[group])
    return jnp.pad(rows, ((0, x.shape[0] - len(group)), (0, 0)))


class Case(NamedTuple):
    """A kernel, a plain formula, and their operands, which are differentiated."""

    kernel: Any
    formula: Any
    operands: tuple[np.ndarray, ...]


QKV = (normal(1, 11, 4, 8), normal(1, 13, 2, 8), normal(1, 13, 2, 12))
flash = partial(ops.flash_attention, block_sizes=(8, 8))
sizes = lambda *xs: np.array(xs, np.int32)
product = partial(ops.matmul, block_sizes=(16, 8, 16))
groups = partial(ops.grouped_matmul, block_sizes=(8, 8, 8))
MATRICES, STACK = (normal(33, 47), normal(47, 21)), (normal(23, 19), normal(4, 19, 13))
CASES = {
    "attention": Case(flash, attention, QKV),
    "causal attention": Case(
        partial(flash, is_causal=True, logits_soft_cap=2.0),
        partial(attention, right=0, cap=2.0),
        QKV,
    ),
    "attention in a window": Case(
        partial(flash, local_window_size=(3, 2)), partial(attention, left=3, right=2), QKV
    ),
    "attention with a bias": Case(flash, attention, (*QKV, normal(1, 4, 11, 13))),
    "attention with a bias of rows": Case(
        partial(flash, is_causal=True),
        partial(attention, right=0),
        (normal(2, 9, 4, 8), normal(2, 9, 2, 8), normal(2, 9, 2, 8), normal(1, 1, 9, 1)),
    ),
    "masked attention": Case(
        partial(flash, mask=MASK, query_segment_ids=SEGMENTS, key_segment_ids=KEY_SEGMENTS),
        partial(attention, mask=MASK, segments=True),
        QKV,
    ),
    "matmul": Case(product, lambda x, y: x @ y, MATRICES),
    "grouped matmul": Case(
        lambda x, y, **options: groups(x, y, sizes(5, 0, 9, 3), **options),
        partial(grouped, sizes=(5, 0, 9, 3)),
        STACK,
    ),
    "grouped matmul of one group": Case(
        lambda x, y, **options: groups(x, y, sizes(0, 0, 23, 0), **options),
        partial(grouped, sizes=(0, 0, 23, 0)),
        STACK,
    ),
    "layer_norm": Case(
        partial(ops.layer_norm, block_rows=4),
        partial(normalized, is_centered=True),
        (normal(3, 5, 37), normal(37), normal(37)),
    ),
    "rms_norm": Case(
        partial(ops.rms_norm, eps=1e-5),
        partial(normalized, is_centered=False),
        (normal(15, 37), normal(37)),
    ),
    "softmax": Case(
        partial(ops.softmax, axis=0, block_rows=2), partial(softmax, axis=0), (normal(5, 3),)
    ),
}
FORMS = {"in order": SERIAL, "at the same time": PARALLEL}


def value_and_gradients(function, operands):
    """The values of a function, and the gradients of a weighted sum of them."""

    def weighted(*xs):
        out = function(*xs)
        weights = jnp.cos(jnp.arange(out.size, dtype=out.dtype)).reshape(out.shape)
        return (out * weights).sum(), out

    places = tuple(range(len(operands)))
    (_, out), gradients = ad.value_and_grad(weighted, places, has_aux=True)(*operands)
    return [out, *gradients]


def assert_close(results, expected, tolerance=2e-5):
    for x, y in zip(results, expected, strict=True):
        wide = [np.asarray(v).astype(np.float64) for v in (x, y)]
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance * 5)


@pytest.fixture
def numpy_backend():
    """Let NumPy compute, so that nothing is compiled."""
    with ir.use_backend(reference.reference_backend):
        yield


@pytest.mark.sampled(14)
@pytest.mark.usefixtures("numpy_backend")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_the_formula(name, form):
    kernel, formula, operands = CASES[name]
    results = value_and_gradients(partial(kernel, interpret=FORMS[form]), operands)
    assert_close(results, value_and_gradients(formula, operands))


def test_compiled_values_and_gradients_are_those_of_the_formula():
    kernel, formula, operands = CASES["causal attention"]
    results, expected = (
        xla.jit(partial(value_and_gradients, f))(operands) for f in (kernel, formula)
    )
    assert_close(results, expected)


@pytest.mark.usefixtures("numpy_backend")
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
@pytest.mark.parametrize("name", ["causal attention", "grouped matmul", "layer_norm"])
def test_results_have_the_dtype_of_the_operands(name, dtype):
    kernel, formula, operands = CASES[name]
    with ir.enable_x64(True):
        narrow = [x.astype(dtype) for x in operands]
        out = kernel(*narrow)
        assert out.dtype == dtype
        tolerance = 1e-10 if dtype == np.float64 else 3e-2
        assert_close([out], [formula(*[x.astype(np.float64) for x in narrow])], tolerance)


@pytest.mark.usefixtures("numpy_backend")
def test_a_batch_is_that_of_the_formula():
    kernel, formula, operands = CASES["causal attention"]
    batch = [np.stack([x, x * 2]) for x in operands[1:]]
    gradient = lambda f: vmap(ad.grad(lambda k, v: (f(operands[0], k, v) ** 2).sum(), (0, 1)))
    assert_close(gradient(kernel)(*batch), gradient(formula)(*batch), 1e-4)


@pytest.mark.usefixtures("numpy_backend")
def test_a_kernel_in_a_loop_is_differentiated():
    def loop(f, x):
        return lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0].sum()

    x = normal(4, 9)
    kernel, formula = ops.layer_norm, partial(normalized, is_centered=True)
    results = [ad.grad(partial(loop, f))(x) for f in (kernel, formula)]
    np.testing.assert_allclose(*results, rtol=1e-3, atol=1e-4)


@pytest.mark.usefixtures("numpy_backend")
def test_the_residual_is_the_logsumexp_and_has_a_gradient():
    q, k, v = QKV[0], QKV[1], QKV[1]

    def plain(q, k):
        logits = jnp.einsum("btnh,bsnh->btns", q, jnp.repeat(k, 2, axis=2)) * 8**-0.5
        return jnp.log(jnp.exp(logits).sum(-1))

    kernel = lambda q, k: flash(q, k, v, return_residual=True)[1]
    results = value_and_gradients(kernel, (q, k))
    assert_close(results, value_and_gradients(plain, (q, k)))


@pytest.mark.usefixtures("numpy_backend")
def test_queries_without_any_key_have_the_result_zero():
    result = flash(*QKV, mask=np.zeros((1, 1, 11, 1), bool))
    assert not np.asarray(result).any()


@pytest.mark.usefixtures("numpy_backend")
@pytest.mark.parametrize("form", FORMS)
def test_decoding_reads_the_pages_of_each_sequence(form):
    query, keys, values = normal(3, 4, 8), normal(2, 9, 16, 8), normal(2, 9, 16, 8)
    lengths, table = sizes(40, 0, 17), RANDOM.integers(0, 9, (3, 4)).astype(np.int32)
    result = ops.paged_attention(query, keys, values, lengths, table, interpret=FORMS[form])
    k, v = (np.moveaxis(x[:, table].reshape(2, 3, 64, 8), 0, 2) for x in (keys, values))
    mask = (np.arange(64) < lengths[:, None])[:, None, None, :]
    assert_close([result], [attention(query[:, None], k, v, mask=mask)[:, 0]])


# Arguments of which parts are not used, and the mask of these parts of each: positions of a page
# past a sequence's end, pages of no sequence, and rows after the last group with their cotangents.
LENGTHS, PAGES = sizes(40, 0, 17), np.array([[3, 1, 0, 8], [5, 5, 5, 5], [2, 7, 6, 8]], np.int32)
IS_USED = np.zeros((9, 16), bool)
for _length, _pages in zip(LENGTHS, PAGES, strict=True):
    IS_USED.reshape(-1)[(_pages[:, None] * 16 + np.arange(16)).reshape(-1)[:_length]] = True
IN_PAGES = np.broadcast_to(~IS_USED[None, :, :, None], (2, 9, 16, 8))
AFTER_GROUPS = np.broadcast_to(np.arange(23)[:, None] >= 17, (23, 19))


def gradients_of_groups(x, ct, y, **options):
    out, pullback = ad.vjp(lambda x, y: groups(x, y, sizes(5, 0, 9, 3), **options), x, y)
    return [out, *pullback(ct)]


UNUSED = {
    "pages": (
        lambda k, v, q, **options: [ops.paged_attention(q, k, v, LENGTHS, PAGES, **options)],
        (normal(2, 9, 16, 8), normal(2, 9, 16, 8), normal(3, 4, 8)),
        (IN_PAGES, IN_PAGES),
    ),
    "capped pages": (
        lambda k, v, q, **options: [
            ops.paged_attention(q, k, v, LENGTHS, PAGES, logits_soft_cap=2.0, **options)
        ],
        (normal(2, 9, 16, 8), normal(2, 9, 16, 8), normal(3, 4, 8)),
        (IN_PAGES, IN_PAGES),
    ),
    "rows after the groups": (
        gradients_of_groups,
        (STACK[0], normal(23, 13), STACK[1]),
        (AFTER_GROUPS, AFTER_GROUPS[:, :13]),
    ),
}


@pytest.mark.usefixtures("numpy_backend")
@pytest.mark.parametrize("garbage", [np.nan, np.inf])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", UNUSED)
def test_unused_parts_of_arguments_may_hold_anything(name, form, garbage):
    function, operands, masks = UNUSED[name]
    filled = lambda value: [
        *[np.where(mask, np.float32(value), x) for mask, x in zip(masks, operands, strict=False)],
        *operands[len(masks) :],
    ]
    call = partial(function, interpret=FORMS[form])
    assert_close(call(*filled(garbage)), call(*filled(0)))


@pytest.mark.parametrize("empty", [(0, 5, 2, 8), (2, 0, 2, 8), (2, 5, 2, 0)])
def test_empty_operands_have_empty_or_zero_results(empty):
    q = np.zeros(empty, np.float32)
    k = np.zeros((empty[0], 3, *empty[2:]), np.float32)
    results = value_and_gradients(ops.flash_attention, (q, k, k))
    assert [x.shape for x in results] == [q.shape, q.shape, k.shape, k.shape]
    assert ops.matmul(np.zeros((2, 0)), np.zeros((0, 3))).tolist() == [[0.0] * 3] * 2
    no_rows = ops.grouped_matmul(np.zeros((0, 3)), np.zeros((2, 3, 4)), sizes(0, 0))
    assert (no_rows.shape, ops.softmax(np.zeros((0, 3))).shape) == ((0, 4), (0, 3))
    assert ops.layer_norm(np.zeros((3, 0))).shape == (3, 0)


MISTAKES = {
    "matmul multiplies": lambda: ops.matmul(normal(2, 3), normal(2, 3)),
    r"grouped_matmul takes .*float32\[2,3\]": lambda: ops.grouped_matmul(*[normal(2, 3)] * 3),
    "of one dtype, with integer sizes": lambda: ops.grouped_matmul(
        normal(2, 3), normal(1, 3, 4), normal(1)
    ),
    "N is a multiple of K": lambda: ops.flash_attention(*[normal(1, 4, n, 8) for n in (3, 2, 2)]),
    "one dtype": lambda: ops.flash_attention(*QKV[:2], QKV[2].astype(np.float16)),
    r"mask must be 1 or that of \(1, 4, 11, 13\)": lambda: flash(*QKV, mask=MASK[0]),
    "pass both": lambda: flash(*QKV, query_segment_ids=SEGMENTS),
    r"must be integers of shape \(1, 13\)": lambda: flash(
        *QKV, query_segment_ids=SEGMENTS, key_segment_ids=SEGMENTS
    ),
    r"weight must be of shape \(3,\)": lambda: ops.rms_norm(normal(2, 3), normal(2)),
    "got a scalar": lambda: ops.layer_norm(1.0),
    "paged_attention takes": lambda: ops.paged_attention(*[normal(2, 3, 4)] * 5),
    "Only interpret mode": lambda: ops.softmax(normal(2, 3), interpret=False),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_a_mistake_is_named(message):
    with pytest.raises(ValueError, match=message):
        MISTAKES[message]()


@pytest.mark.parametrize("platform", ["tpu", "cuda"])
def test_kernels_are_lowered_for_devices(platform):
    target = {"tpu": "tpu_custom_call", "cuda": "__gpu$xla.gpu.triton"}[platform]
    gradient = ad.grad(lambda *xs: ops.flash_attention(*xs, is_causal=True).sum(), (0, 1, 2))
    types = [ir.ShapeDtypeStruct((1, 256, n, 128), np.float32) for n in (4, 2, 2)]
    text = xla.jit(gradient).trace(*types).lower(lowering_platforms=(platform,)).as_text()
    assert text.count(target) == 3


@pytest.mark.parametrize("bounds", [(0, 0), (0, 2), (1, 3), (3, 3), (2, 2)])
@pytest.mark.parametrize("step", range(3))
def test_no_block_outside_of_the_array_is_fetched(bounds, step):
    spec = Fold("name", (), 3, [], [], tuple, bounds=lambda _: tuple(map(np.int32, bounds)))
    clamped = int(_clamped(spec, Place((), np.int32(step), ())).step)
    assert 0 <= clamped < 3
    assert clamped == step or not bounds[0] <= step < bounds[1]

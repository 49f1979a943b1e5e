"""Programs on arrays: elementwise functions, reductions, products, sorting, indexing, loops."""

from functools import partial

import numpy as np

import jax
import jax.numpy as jnp
from gpu_cases.case import BATCH, COMPLEX, INDICES, INTEGERS, SHORT, TALL, VECTOR, Table, normal
from jax import lax
from jax.experimental import sparse

UNARY = """sin cos tan exp log log1p expm1 sqrt tanh arctan arcsinh cbrt floor ceil sign square exp2
    log2 log10 reciprocal"""
REDUCTIONS = "sum prod max min mean std var cumsum argmax argsort sort median"
BINARY = "add subtract multiply divide arctan2 hypot maximum power fmod logaddexp"
INTEGER = "bitwise_and left_shift floor_divide remainder gcd"
ALGORITHMS = "TF32_TF32_F32 BF16_BF16_F32 BF16_BF16_F32_X3 F32_F32_F32"
CONVERTED = "float8_e4m3fn float8_e5m2 bfloat16 float16 int8 int4"


def _elementwise(table: Table) -> None:
    for name in UNARY.split():
        table.add(f"np.{name}", getattr(jnp, name), VECTOR, reference=getattr(np, name))
    for name in REDUCTIONS.split():
        ours, theirs = (partial(getattr(module, name), axis=1) for module in (jnp, np))
        table.add(f"np.{name}", ours, TALL, reference=theirs)
    for name in BINARY.split():
        reference = getattr(np, name)
        table.add(
            f"np.{name}", getattr(jnp, name), VECTOR, VECTOR[::-1].copy(), reference=reference
        )
    for name in INTEGER.split():
        operands = INTEGERS + 1, INTEGERS[::-1] % 5 + 1
        reference = getattr(np, name)
        table.add(f"np.{name}", getattr(jnp, name), *operands, reference=reference, exact=True)
    for name in CONVERTED.split():

        def convert(x, name=name):
            return x.astype(getattr(jnp, name)).astype(np.float32)

        table.add(f"convert.{name}", convert, TALL * 3, exact=True)


def _products(table: Table) -> None:
    def cast(dtype):
        return lambda a, b: jnp.matmul(a.astype(dtype), b.astype(dtype)).astype(np.float32)

    add = partial(table.add, reference=np.matmul)
    add("matmul", jnp.matmul, TALL, SHORT, tolerance=2e-3)
    highest = partial(jnp.matmul, precision="highest")
    add("matmul.highest", highest, TALL, SHORT, tolerance=2e-6)
    add("matmul.bf16", cast(jnp.bfloat16), TALL, SHORT, tolerance=2e-2)
    add("matmul.f16", cast(jnp.float16), TALL, SHORT, tolerance=5e-3)
    add("matmul.c64", jnp.matmul, COMPLEX, COMPLEX, tolerance=5e-3)
    for name in ALGORITHMS.split():
        by_algorithm = partial(lax.dot, precision=getattr(lax.DotAlgorithmPreset, name))
        add(f"dot.{name}", by_algorithm, TALL, SHORT, tolerance=2e-2)
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):

        def dot(a, b, name=name):
            a, b = (x.astype(getattr(jnp, name)) for x in (a, b))
            return lax.dot(a, b, preferred_element_type=np.float32)

        table.add(f"dot.{name}", dot, normal(32, 32), normal(32, 16), tolerance=1e-3)
    bytes_ = [np.random.RandomState(i).randint(-9, 9, (32, 32)).astype(np.int8) for i in (0, 1)]
    table.add("dot.int8", partial(lax.dot, preferred_element_type=np.int32), *bytes_, exact=True)
    contract = partial(jnp.einsum, "bij,bjk->bik", precision="highest")
    add("einsum", contract, BATCH, BATCH)

    def ragged(x, w):
        return lax.ragged_dot(x, w, jnp.array([3, 5, 8], np.int32))

    table.add("ragged_dot", ragged, normal(16, 8), normal(3, 8, 5), tolerance=5e-3)
    add("bcoo", lambda a, b: sparse.BCOO.fromdense(a, nse=192) @ b, TALL, SHORT, tolerance=5e-3)
    add("bcsr", lambda a, b: sparse.BCSR.fromdense(a, nse=192) @ b, TALL, SHORT, tolerance=5e-3)
    table.add("convolve", jnp.convolve, VECTOR, VECTOR[:9], reference=np.convolve, tolerance=5e-3)


def _sorting(table: Table) -> None:
    add = partial(table.add, exact=True)
    order = jnp.arange
    add("sort.stable", lambda k: lax.sort((k, order(240).reshape(8, 30)), num_keys=1), INTEGERS)
    with_nan = np.where(VECTOR > 0.9, np.nan, VECTOR).astype(np.float32)
    add("sort.nan", jnp.sort, with_nan, reference=np.sort)
    add("sort.big", jnp.sort, normal(1 << 18), reference=np.sort)
    add("top_k", lambda x: lax.top_k(x, 5), TALL)
    table.add("approx_max_k", lambda x: lax.approx_max_k(x, 5)[0], normal(4, 3000))
    add("unique", lambda x: jnp.unique(x, size=60), INTEGERS)
    add("searchsorted", lambda x: jnp.searchsorted(jnp.sort(x), x), VECTOR)
    for name in ("cumsum", "cumprod", "cummax", "cumlogsumexp"):
        table.add(f"lax.{name}", partial(getattr(lax, name), axis=0), TALL, tolerance=1e-4)


def _indexing(table: Table) -> None:
    table.add("at.add", lambda x, i: x.at[i].add(1.5), TALL, INDICES)
    count = lambda x, i: x.at[i].add(1.0)
    table.add("at.add.atomic", count, np.zeros(50, np.float32), INTEGERS.ravel(), exact=True)
    table.add("at.set.drop", lambda x, i: x.at[i].set(2.0, mode="drop"), TALL, INDICES, exact=True)
    table.add("at.multiply", lambda x, i: x.at[i].multiply(2.0), TALL, INDICES)
    table.add("at.max", lambda x, i: x.at[i].max(0.5), TALL, INDICES, exact=True)
    table.add("take", lambda x, i: jnp.take(x, i, axis=0), TALL, INDICES, exact=True)
    segment_sum = lambda x, i: jax.ops.segment_sum(x, i, 50)
    table.add("segment_sum", segment_sum, normal(240), INTEGERS.ravel())
    gathered = jax.grad(lambda x, i: (x[i] ** 2).sum())
    table.add("gather.grad", gathered, TALL, np.array([1, 1, 2], np.int32))


def _control_flow(table: Table) -> None:
    def recurrent(x):
        return lax.scan(lambda c, y: (jnp.tanh(c * y), c), jnp.ones(12), x)

    table.add("scan", recurrent, TALL)
    table.add("scan.grad", jax.grad(lambda x: recurrent(x)[0].sum()), TALL)
    table.add("scan.vmap", jax.vmap(recurrent), normal(3, 16, 12))

    def grow(x):
        return lax.while_loop(lambda s: s[1] < 100, lambda s: (s[0] * 1.01, s[1] + 1), (x, 0))

    table.add("while", grow, VECTOR)
    table.add(
        "fori.grad",
        jax.grad(lambda x: lax.fori_loop(0, 9, lambda i, y: jnp.sin(y), x).sum()),
        VECTOR,
    )
    table.add("cond", lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), VECTOR)
    table.add(
        "cond.grad", jax.grad(lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x).sum()), VECTOR
    )
    branches = jax.vmap(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.exp], x))
    table.add("switch.vmap", branches, np.array([0, 1, 2, 1], np.int32), VECTOR[:4])
    table.add(
        "associative_scan", partial(lax.associative_scan, jnp.add), VECTOR, reference=np.cumsum
    )
    table.add("map.batch", partial(lax.map, jnp.sin, batch_size=7), VECTOR)
    table.add("jvp", lambda x: jax.jvp(jnp.tanh, (x,), (x,)), VECTOR)
    table.add("hessian", jax.hessian(lambda x: (jnp.sin(x) ** 3).sum()), VECTOR[:9])
    table.add("jacfwd", jax.jacfwd(lambda x: jnp.sin(x) * x.sum()), VECTOR[:9])
    twice = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    table.add("remat.grad", jax.grad(lambda x: twice(x).sum()), VECTOR)


def _callbacks(table: Table) -> None:
    def sin_on_host(x, **options):
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x, **options)

    batched = jax.vmap(partial(sin_on_host, vmap_method="broadcast_all"))
    table.add("pure_callback", sin_on_host, VECTOR, reference=np.sin)
    table.add("pure_callback.vmap", batched, TALL, reference=np.sin)


def add_programs(table: Table) -> None:
    """Add the programs of this module."""
    for add in (_elementwise, _products, _sorting, _indexing, _control_flow, _callbacks):
        add(table)

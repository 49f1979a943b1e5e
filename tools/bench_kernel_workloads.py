"""The interpreter of kernels that `bench.py` measures: products of matrices, rows, and gathers."""

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from bench_workloads import WORKLOADS, Workload, best, ready

SIZE = 1024


def product(api: ModuleType, pl: Any, block: int, depth: int) -> Callable[..., Any]:
    """A product of matrices in blocks, which adds up along the last axis of its grid."""
    jnp = api.numpy

    def kernel(x: Any, y: Any, out: Any) -> None:
        @pl.when(pl.program_id(2) == 0)
        def _() -> None:
            out[...] = jnp.zeros_like(out)

        out[...] += x[...] @ y[...]

    call = pl.pallas_call(
        kernel,
        api.ShapeDtypeStruct((SIZE, SIZE), np.float32),
        grid=(SIZE // block, SIZE // block, SIZE // depth),
        in_specs=[
            pl.BlockSpec((block, depth), lambda i, j, k: (i, k)),
            pl.BlockSpec((depth, block), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((block, block), lambda i, j, k: (i, j)),
        interpret=True,
    )
    return lambda x: call(x, x)


def rows(api: ModuleType, pl: Any, block: int) -> Callable[..., Any]:
    """The softmax of the rows of a matrix."""
    jnp = api.numpy

    def kernel(x: Any, out: Any) -> None:
        powers = jnp.exp(x[...] - x[...].max(axis=1, keepdims=True))
        out[...] = powers / powers.sum(axis=1, keepdims=True)

    spec = pl.BlockSpec((block, SIZE), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        api.ShapeDtypeStruct((SIZE, SIZE), np.float32),
        grid=(SIZE // block,),
        in_specs=[spec],
        out_specs=spec,
        interpret=True,
    )


def gather(api: ModuleType, pl: Any) -> Callable[..., Any]:
    """The rows of a matrix at prefetched positions."""
    tpu = importlib.import_module(f"{api.__name__}.experimental.pallas.tpu")

    def kernel(order: Any, x: Any, out: Any) -> None:
        out[...] = x[...]

    call = pl.pallas_call(
        kernel,
        api.ShapeDtypeStruct((SIZE, SIZE), np.float32),
        grid_spec=tpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(SIZE,),
            in_specs=[pl.BlockSpec((1, SIZE), lambda i, order: (order[i], 0))],
            out_specs=pl.BlockSpec((1, SIZE), lambda i, order: (i, 0)),
        ),
        interpret=True,
    )
    order = np.random.default_rng(0).permutation(SIZE).astype(np.int32)
    return lambda x: call(api.numpy.asarray(order), x)


def interpreted(make: Callable[[ModuleType, Any], Callable[..., Any]], repeats: int) -> Workload:
    def measure(api: ModuleType) -> float:
        kernels = importlib.import_module(f"{api.__name__}.experimental.pallas")
        run = api.jit(make(api, kernels))
        x = api.numpy.asarray(np.random.default_rng(1).normal(size=(SIZE, SIZE)).astype("float32"))
        return best(lambda: ready(run(x)), repeats)

    return measure


LARGE_STEPS = "interpret a product of 1024², grid 8 × 8 × 8"  # which take longer than JAX's copies
KERNELS: dict[str, Workload] = {
    "interpret a product of 1024², grid 32 × 32 × 32": interpreted(
        lambda api, pl: product(api, pl, 32, 32), 1
    ),
    "interpret a product of 1024², grid 32 × 32 × 1": interpreted(
        lambda api, pl: product(api, pl, 32, SIZE), 3
    ),
    LARGE_STEPS: interpreted(lambda api, pl: product(api, pl, 128, 128), 5),
    "interpret a gather of 1024 rows": interpreted(gather, 5),
    "interpret a softmax of 128 × 8 rows": interpreted(lambda api, pl: rows(api, pl, 8), 5),
}
WORKLOADS.update(KERNELS)

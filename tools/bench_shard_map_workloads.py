"""Workloads of `bench.py` on eight devices: `shard_map`, and what compiled programs hold.

The counted programs are the jobs of `integration/device_jobs`, which import `jax`: where Ricci is
measured, that is its drop-in.
"""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from bench_workloads import WORKLOADS, Workload, best, ready, workload

JOBS_FOLDER = Path(__file__).resolve().parent.parent / "integration" / "device_jobs"
JOBS = {
    "data_parallel": "data parallel MLP",
    "tensor_parallel": "tensor parallel block",
    "fsdp": "FSDP step",
    "ring_attention": "ring attention",
    "experts": "mixture of experts",
}
EAGER = "eager shard_map of 5 operations"
TRACE = "trace the gradient of a transformer block under shard_map"
COUNTS = [f"{what}, {name}" for name in JOBS.values() for what in ("collectives", "instructions")]


def line(api: ModuleType, name: str) -> Any:
    """A mesh of eight devices in a row, which the compiler divides arrays over."""
    return api.make_mesh((8,), (name,), axis_types=(api.sharding.AxisType.Auto,))


@workload(EAGER)
def eager_shard_map(api: ModuleType) -> float:
    jnp, lax, spec = api.numpy, api.lax, api.sharding.PartitionSpec
    mesh = line(api, "x")

    def body(a: Any) -> Any:
        return jnp.sin(a * 2 + 1) - lax.psum(a, "x")

    mapped = api.shard_map(body, mesh=mesh, in_specs=spec("x"), out_specs=spec("x"))
    place = api.sharding.NamedSharding(mesh, spec("x"))
    x = api.device_put(np.arange(32, dtype=np.float32).reshape(8, 4), place)
    return best(lambda: ready(mapped(x)), 10, 5, 3)


@workload(TRACE)
def trace_block(api: ModuleType) -> float:
    jnp, lax, spec = api.numpy, api.lax, api.sharding.PartitionSpec
    mesh = line(api, "model")
    width, heads, size, hidden, length = 32, 8, 4, 64, 16
    divided = {
        "q": spec(None, "model"),
        "k": spec(None, "model"),
        "v": spec(None, "model"),
        "o": spec("model"),
        "up": spec(None, "model"),
        "down": spec("model"),
    }
    shapes = {
        "q": (width, heads, size),
        "k": (width, heads, size),
        "v": (width, heads, size),
        "o": (heads, size, width),
        "up": (width, hidden),
        "down": (hidden, width),
    }

    def normalize(x: Any) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        return centered * lax.rsqrt(jnp.mean(centered**2, -1, keepdims=True) + 1e-6)

    def block(weights: Any, x: Any) -> Any:
        h = normalize(x)
        q, k, v = (jnp.einsum("btd,dhk->bthk", h, weights[name]) for name in "qkv")
        scores = jnp.einsum("bthk,bshk->bhts", q, k) / size**0.5
        mask = jnp.tril(jnp.ones((length, length), bool))
        weighted = api.nn.softmax(jnp.where(mask, scores, -1e9))
        mixed = jnp.einsum("bhts,bshk->bthk", weighted, v)
        x = x + lax.psum(jnp.einsum("bthk,hkd->btd", mixed, weights["o"]), "model")
        h = api.nn.gelu(normalize(x) @ weights["up"])
        return x + lax.psum(h @ weights["down"], "model")

    weights = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    x = np.ones((4, length, width), np.float32)

    def trace() -> Any:
        # A new function each time: neither side may answer from a cache.
        mapped = api.shard_map(
            lambda weights, x: block(weights, x),
            mesh=mesh,
            in_specs=(divided, spec()),
            out_specs=spec(),
        )
        return api.make_jaxpr(api.grad(lambda w, x: jnp.mean(mapped(w, x) ** 2)))(weights, x)

    return best(trace, 5)


def job_workload(job: str, what: str) -> Workload:
    def measure(_: ModuleType) -> float:
        sys.path[:0] = [str(JOBS_FOLDER)]
        counting = importlib.import_module("_counting")
        _, programs = importlib.import_module(job).run()
        texts = [program.as_text() for program in programs.values()]
        count = {
            "collectives": lambda text: len(counting.COLLECTIVE.findall(text)),
            "instructions": counting.instructions,
        }[what]
        return float(sum(map(count, texts)))

    return measure


for _job, _name in JOBS.items():
    for _what in ("collectives", "instructions"):
        WORKLOADS[f"{_what}, {_name}"] = job_workload(_job, _what)

"""Workloads of a process that starts: how long it takes to its first step of training.

The folder of the compilation cache was filled by an earlier process, or nothing is cached. In a
warm start, which JAX does not have, Ricci has a bundle that an earlier process made instead. As a
program, this file is the process: `python bench_starts.py SIDE MODEL [BUNDLE]` makes the model's
parameters, runs one step, and prints when that was done, and what of it jaxlib took. With the
oracle's interpreter, it prints a table of processor times, which depend less on what else runs:

    python tools/bench_starts.py --table ORACLE [RUNS]
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

MODELS = {
    "start to the first step of an MLP, cache filled": "mlp",
    "start to the first step of a CNN, cache filled": "cnn",
    "start to the first step of a 12-layer transformer, cache filled": "transformer",
}
WARM = {
    "start to the first step of an MLP, warm": "mlp",
    "start to the first step of a CNN, warm": "cnn",
    "start to the first step of a 12-layer transformer, warm": "transformer",
}
COLD = {
    "start to the first step of an MLP, nothing cached": "mlp",
    "start to the first step of a CNN, nothing cached": "cnn",
    "start to the first step of a 12-layer transformer, nothing cached": "transformer",
}
_LIMIT = 600.0
# The methods of jaxlib's client by which both sides get an executable.
_XLA = ("compile_and_load", "deserialize_executable")
_WIDTH = 128
_HEADS = 4
_LAYERS = 12
# By side and workload: the folder that an earlier process has filled.
_folders: dict[tuple[str, str], tempfile.TemporaryDirectory[str]] = {}


def measure(interpreter: Path, side: str, name: str) -> dict[str, Any]:
    """Run a workload once, and before that once to fill the cache; answers as `bench_side.py` does.

    Raises:
      RuntimeError: if a process fails.
    """
    model, warm = {**MODELS, **WARM, **COLD}[name], name in WARM and side == "ricci"
    if name in COLD:
        folder = None
    elif (side, name) in _folders:
        folder = _folders[side, name].name
    else:
        folder = (_folders.setdefault((side, name), tempfile.TemporaryDirectory())).name
        _run(interpreter, side, folder, model, warm)
    began = time.time()
    reply = _run(interpreter, side, folder, model, warm)
    outcome = {**reply, "value": reply["done"] - began}
    return {"version": reply["version"], "measured": {name: outcome}}


def _run(
    interpreter: Path, side: str, folder: str | None, model: str, warm: bool
) -> dict[str, Any]:
    variables = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "",
        "PYTHONDONTWRITEBYTECODE": "",
    }
    if folder is not None and not warm:
        variables["JAX_COMPILATION_CACHE_DIR"] = folder
        variables["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        variables["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "0"
    if side == "jax":
        variables["PYTHONPATH"] = ""
    bundle = [str(Path(folder, "bundle"))] if folder is not None and warm else []
    command = [str(interpreter), __file__, side, model, *bundle]
    done = subprocess.run(
        command, capture_output=True, env=variables, text=True, timeout=_LIMIT, check=False
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return json.loads(done.stdout.splitlines()[-1])


def _mlp(jax: Any, jnp: Any, key: Any) -> tuple[Any, Any, Any]:
    sizes = (64, 128, 128, 10)
    keys = jax.random.split(key, len(sizes) - 1)
    weights = [
        (jax.random.normal(k, (n, m)) / np.sqrt(n), jnp.zeros(m))
        for k, n, m in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]

    def loss(weights, batch):
        x, labels = batch
        for weight, bias in weights[:-1]:
            x = jnp.tanh(x @ weight + bias)
        weight, bias = weights[-1]
        return _cross_entropy(jax, jnp, x @ weight + bias, labels)

    return loss, weights, (np.ones((32, 64), np.float32), np.zeros(32, np.int32))


def _cnn(jax: Any, jnp: Any, key: Any) -> tuple[Any, Any, Any]:
    channels = (1, 16, 32, 32)
    keys = jax.random.split(key, len(channels))
    weights = {
        "filters": [
            jax.random.normal(k, (3, 3, n, m)) / np.sqrt(9 * n)
            for k, n, m in zip(keys[1:], channels[:-1], channels[1:], strict=True)
        ],
        "dense": jax.random.normal(keys[0], (channels[-1], 10)),
    }

    def loss(weights, batch):
        x, labels = batch
        for filters in weights["filters"]:
            x = jax.lax.conv_general_dilated(
                x, filters, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = jax.nn.relu(x)
        return _cross_entropy(jax, jnp, x.mean((1, 2)) @ weights["dense"], labels)

    return loss, weights, (np.ones((8, 28, 28, 1), np.float32), np.zeros(8, np.int32))


def _transformer(jax: Any, jnp: Any, key: Any) -> tuple[Any, Any, Any]:
    def layer(key):
        keys = jax.random.split(key, 4)
        shapes = ((3 * _WIDTH,), (_WIDTH,), (4 * _WIDTH,), (_WIDTH,))
        inputs = (_WIDTH, _WIDTH, _WIDTH, 4 * _WIDTH)
        return {
            name: jax.random.normal(k, (n, *shape)) / np.sqrt(n)
            for name, k, n, shape in zip(
                ("attend", "mix", "widen", "narrow"), keys, inputs, shapes, strict=True
            )
        }

    keys = jax.random.split(key, _LAYERS + 1)
    weights = {
        "embedding": jax.random.normal(keys[0], (256, _WIDTH)),
        "layers": [layer(k) for k in keys[1:]],
    }

    def normalize(x):
        return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-6)

    def attention(p, x):
        batch, length, width = x.shape
        q, k, v = jnp.split(x @ p["attend"], 3, axis=-1)
        q, k, v = (t.reshape(batch, length, _HEADS, width // _HEADS) for t in (q, k, v))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(width // _HEADS)
        mask = jnp.tril(jnp.ones((length, length), bool))
        scores = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
        return jnp.einsum("bhqk,bkhd->bqhd", scores, v).reshape(batch, length, width) @ p["mix"]

    def loss(weights, batch):
        tokens, labels = batch
        x = weights["embedding"][tokens]
        for p in weights["layers"]:
            x = x + attention(p, normalize(x))
            x = x + jax.nn.gelu(normalize(x) @ p["widen"]) @ p["narrow"]
        return _cross_entropy(jax, jnp, normalize(x) @ weights["embedding"].T, labels)

    return loss, weights, (np.zeros((4, 64), np.int32), np.zeros((4, 64), np.int32))


def _cross_entropy(jax: Any, jnp: Any, logits: Any, labels: Any) -> Any:
    logs = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(logs, labels[..., None], axis=-1).mean()


_makers = {"mlp": _mlp, "cnn": _cnn, "transformer": _transformer}


def _work(side: str, model: str, bundle: str | None = None) -> dict[str, object]:
    jax = import_module(side)
    jnp = import_module(f"{side}.numpy")
    times = _time_xla()
    if bundle is not None:
        jax.warm_start(bundle)
    loss, weights, batch = _makers[model](jax, jnp, jax.random.key(0))

    @jax.jit
    def step(weights, batch):
        value, slopes = jax.value_and_grad(loss)(weights, batch)
        return value, jax.tree.map(lambda w, slope: w - 0.1 * slope, weights, slopes)

    value, _ = jax.block_until_ready(step(weights, batch))
    done, processor = time.time(), time.process_time()
    loading, xla = (sum(seconds) for seconds in zip(*times, strict=True))
    executables, later = len(times), []
    for _ in range(5):
        before = time.process_time()
        jax.block_until_ready(step(weights, batch))
        later.append(time.process_time() - before)
    text = step.lower(weights, batch).as_text()
    return {
        "version": jax.__version__,
        "done": done,
        "loading": loading,
        "executables": executables,
        "processor": processor,
        "xla": xla,
        "step": min(later),
        "operations": sum(line.lstrip().startswith("%") for line in text.splitlines()),
        "loss": float(value),
    }


def _time_xla() -> list[tuple[float, float]]:
    """Let jaxlib's client note what each executable takes: seconds and processor time."""
    client = import_module("jaxlib._jax").Client
    times: list[tuple[float, float]] = []

    def timed(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            began, processor = time.perf_counter(), time.process_time()
            try:
                return method(*args, **kwargs)
            finally:
                times.append((time.perf_counter() - began, time.process_time() - processor))

        return call

    for name in _XLA:
        setattr(client, name, timed(getattr(client, name)))
    return times


def _table(oracle: str, runs: str = "3") -> str:
    """The processor time of each start, of which jaxlib's, and what else there is, in Markdown.

    Times are the least of several alternating runs; where nothing is cached, of one.
    """
    sides = {"jax": Path(oracle), "ricci": Path(sys.executable)}
    lines = [
        "| start | executables | XLA, s | all else, s | ratio | operations | later step, ms |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in (*MODELS, *COLD):
        rounds = [
            {side: measure(python, side, name)["measured"][name] for side, python in sides.items()}
            for _ in range(1 if name in COLD else int(runs))
        ]
        least = [
            min((r[side] for r in rounds), key=lambda outcome: outcome["processor"])
            for side in sides
        ]
        others = [outcome["processor"] - outcome["xla"] for outcome in least]
        cells = [
            " / ".join(str(outcome["executables"]) for outcome in least),
            " / ".join(f"{outcome['xla']:.2f}" for outcome in least),
            " / ".join(f"{seconds:.2f}" for seconds in others),
            f"{least[1]['processor'] / least[0]['processor']:.2f}",
            " / ".join(str(outcome["operations"]) for outcome in least),
            " / ".join(f"{1e3 * outcome['step']:.3g}" for outcome in least),
        ]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1] == "--table":
        print(_table(*sys.argv[2:]))
    else:
        print(json.dumps(_work(*sys.argv[1:])), flush=True)

"""Plans the memory of one job's step, on the drop-in; prints what the plan and the compiler say.

`python run_plan.py NAME DATA`, as for `run_job.py`. The step is the largest of the functions that
the job, or its library, compiles in its first steps.
"""

import functools
import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import jax
import ricci

STEPS = 2


def watch(seen: list[tuple[Any, tuple[Any, ...], dict[str, Any]]]) -> None:
    """Let `jax.jit` note each function that is called with arrays, and the first such call."""
    compiled = jax.jit

    def jit(*given: Any, **options: Any) -> Any:
        if not given or not callable(given[0]):
            return functools.partial(jit, *given, **options)
        inner = compiled(*given, **options)
        plan: Callable[..., Any] = inner

        @functools.wraps(inner)
        def call(*args: Any, **kwargs: Any) -> Any:
            leaves = jax.tree.leaves((args, kwargs))
            first = all(plan is not other for other, _, _ in seen)
            if first and not any(isinstance(x, jax.core.Tracer) for x in leaves):
                # Types are kept, since the call may be given the arrays' memory.
                args_, kwargs_ = jax.tree.map(typed, (args, kwargs))
                seen.append((plan, args_, kwargs_))
            return inner(*args, **kwargs)

        call.lower = inner.lower
        return call

    jax.jit = jit


def typed(x: Any) -> Any:
    """The type of an array; any other leaf as it is."""
    return jax.ShapeDtypeStruct(x.shape, x.dtype) if isinstance(x, jax.Array | np.ndarray) else x


def run(name: str, file: str) -> dict[str, Any]:
    """Return the name of the step, and its peak in bytes by the plan and by the compiler."""
    seen: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []
    watch(seen)
    with np.load(file) as archive:
        data = {key: archive[key] for key in archive.files}
    steps = importlib.import_module(f"job_{name}").train(data)
    for _ in range(STEPS):
        next(steps)
    plans = [ricci.memory_plan(f, *args, **kwargs) for f, args, kwargs in seen]
    plan = max(plans, key=lambda p: p.peak_bytes)
    return {"step": plan.name, "plan": plan.live_bytes, "compiler": plan.peak_bytes}


if __name__ == "__main__":
    print(json.dumps(run(*sys.argv[1:])))

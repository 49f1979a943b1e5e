"""Plans the memory of one job's step, on the drop-in; prints the plan's and the compiler's numbers.

`python run_plan.py NAME DATA`, as for `run_job.py`. The step is the largest of the functions that
the job, or its library, compiles in its first steps. Each is planned when it is first called: what
a library jits may read a context that the library enters around the call, as Flax NNX's does.
"""

import functools
import importlib
import json
import sys
from typing import Any

import numpy as np

import jax
import ricci.parallel

STEPS = 2


def plan_first_calls(plans: list[ricci.parallel.MemoryPlan]) -> None:
    """Make `jax.jit` append the plan of each function to a list when it is first called."""
    compiled = jax.jit

    def jit(*given: Any, **options: Any) -> Any:
        if not given or not callable(given[0]):
            return functools.partial(jit, *given, **options)
        inner = compiled(*given, **options)
        planned = False

        @functools.wraps(inner)
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal planned
            leaves = jax.tree.leaves((args, kwargs))
            if not planned and not any(isinstance(x, jax.core.Tracer) for x in leaves):
                planned = True
                plans.append(ricci.memory_plan(inner, *args, **kwargs))
            return inner(*args, **kwargs)

        call.lower = inner.lower
        return call

    jax.jit = jit


def run(name: str, file: str) -> dict[str, Any]:
    """Return the name of the step, and its peak in bytes by the plan and by the compiler."""
    plans: list[ricci.parallel.MemoryPlan] = []
    plan_first_calls(plans)
    with np.load(file) as archive:
        data = {key: archive[key] for key in archive.files}
    steps = importlib.import_module(f"job_{name}").train(data)
    for _ in range(STEPS):
        next(steps)
    plan = max(plans, key=lambda p: p.peak_bytes)
    return {"step": plan.name, "plan": plan.live_bytes, "compiler": plan.peak_bytes}


if __name__ == "__main__":
    print(json.dumps(run(*sys.argv[1:])))

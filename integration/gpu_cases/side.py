"""Compile the programs for a described GPU, and write what each compiles to as JSON.

Both sides run this: `python -m gpu_cases.side OUT CONFIG STEP GROUP...`, where `jax` is real JAX or
the drop-in. CONFIG is a file with XLA's description of the card, since JAX has no names of cards.
Every STEP-th program of a group is compiled.
"""

import json
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import jax
from gpu_cases import arrays, collective, learning, matrices, memories, models
from gpu_cases.case import Table
from gpu_cases.versions import state_versions
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

MODULES = {"arrays": arrays, "matrices": matrices, "learning": learning}
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = .*? ([a-z][\w\-]*)\(", re.MULTILINE)
_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{$")
_TARGET = re.compile(r'custom_call_target="([^"]+)"')
_NESTED = re.compile(
    r"(?:body|condition|branch_computations|true_computation|false_computation|"
    r"calls|to_apply)=(?:%?([\w.\-]+)|\{([^}]*)\})"
)
# No kernel runs for these.
FREE = {
    "parameter",
    "constant",
    "tuple",
    "get-tuple-element",
    "bitcast",
    "while",
    "conditional",
    "call",
    "after-all",
    "partition-id",
    "async-start",
    "async-done",
    "opt-barrier",
}


def summary(compiled) -> dict:
    """Return the bytes of temporaries, the kernels by kind and the custom calls of a program."""
    bodies: dict[str, list[str]] = {}
    entry, current = "", None
    for line in compiled.as_text().splitlines():
        start = _COMPUTATION.match(line)
        if start:
            current = start[2]
            bodies[current] = []
            entry = current if start[1] else entry
        elif current is not None:
            bodies[current].append(line)
    kernels: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    pending, seen = [entry], set()
    while pending:
        name = pending.pop()
        if name in seen or name not in bodies:
            continue
        seen.add(name)
        for line in bodies[name]:
            match = _INSTRUCTION.match(line)
            if match is None:
                continue
            opcode = match[1]
            target = _TARGET.search(line)
            if target:
                calls[target[1]] += 1
            if opcode not in FREE:
                kernels[opcode] += 1
            if opcode in ("while", "conditional", "call", "async-start"):
                for one, several in _NESTED.findall(line):
                    pending += [n.strip().lstrip("%") for n in (one or several).split(",")]
    memory = compiled.memory_analysis()
    return {
        "temporaries": memory.temp_size_in_bytes,
        "kernels": dict(sorted(kernels.items())),
        "calls": dict(sorted(calls.items())),
    }


def compile_all(describe, names, step: int) -> dict:
    """Compile the named groups of programs; an error is a text in place of a summary."""
    results = {}
    numbers: Counter[str] = Counter()

    def compile_one(group, name, lower, summary=summary):
        numbers[group] += 1
        if (numbers[group] - 1) % step:
            return
        start = time.perf_counter()
        try:
            results[name] = summary(lower().compile())
        except Exception as error:  # noqa: BLE001 - what fails is compared, too
            results[name] = {"error": type(error).__name__, "text": str(error)[:300]}
        results[name]["seconds"] = round(time.perf_counter() - start, 2)

    device = describe("1x1x1")[0]
    on_device = SingleDeviceSharding(device)
    shape = lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=on_device)
    for group in (name for name in names if name in MODULES):
        table = Table()
        MODULES[group].add_programs(table)
        for name, program in table.programs.items():
            placed: Any = jax.jit(program.function, out_shardings=on_device)
            arguments = [shape(x) for x in program.arguments]
            compile_one(group, name, lambda f=placed, a=arguments: f.lower(*a))
    if "models" in names:
        for name, (weights, batch, loss) in models.models(big=False).items():
            for precision, dtype in models.DTYPES.items():
                step_of = models.training_step(loss, dtype)
                arguments = jax.tree.map(shape, (weights, *batch))
                compile_one(
                    "models", f"{name}.{precision}", lambda f=step_of, a=arguments: f.lower(*a)
                )
    if "memories" in names:
        on = lambda memory: SingleDeviceSharding(device, memory_kind=memory)
        for name, (function, options, arguments) in memories.programs(on, "cuda").items():
            with_options: Any = jax.jit(function, **options)
            lower = lambda f=with_options, a=arguments: f.lower(*a)
            compile_one("memories", name, lower, memories.sizes)
    if "collectives" in names:
        for sizes in ("1x1x2", "2x1x1"):
            mesh = Mesh(np.array(describe(sizes)), ("x",))
            spread = NamedSharding(mesh, PartitionSpec("x"))
            x = jax.ShapeDtypeStruct(collective.SHAPE, collective.DTYPE, sharding=spread)
            for name, function in collective.programs(mesh).items():
                jitted: Any = jax.jit(function)
                compile_one("collectives", f"{name}.{sizes}", lambda f=jitted, x=x: f.lower(x))
    return results


def main(out: str, config: str, step: str, *names: str) -> None:
    """Write the results as JSON."""
    jax.devices("cpu")  # real JAX finds its plugins with the first device
    state_versions()
    text = Path(config).read_text()

    def describe(sizes):
        options = {"target_config": text, "topology": sizes}
        return topologies.get_topology_desc(platform="cuda", **options).devices

    Path(out).write_text(json.dumps(compile_all(describe, names, int(step))))


if __name__ == "__main__":
    main(*sys.argv[1:])

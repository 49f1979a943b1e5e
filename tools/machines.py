"""Run the tests that rest on arithmetic as other processors would compute: `nox -s machines`.

A processor decides which instructions XLA's programs use, which kernels OpenBLAS (below LAPACK) and
which loops NumPy picks; each of the three can be told to take an older processor for granted. A
machine here is one such choice. The last one is none that exists: `last_place` changes the last
place of every approximate result.
"""

import argparse
import fnmatch
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from workspace import EXAMPLES, ROOT

VALUES = (
    "integration/documents/test_examples.py",
    "integration/arrays/test_nonsymmetric.py",
    "integration/oracle/test_recorded_values.py",
    "integration/documents/test_spec_documents.py",
    "packages/lax/tests/test_linalg_nonsymmetric.py",
    "packages/lax/tests/test_linalg_solving.py",
    "packages/lax/tests/test_linalg_spectral.py",
    "packages/nn/tests/test_values.py",
    "packages/numpy/tests/test_differences.py",
    "packages/numpy/tests/test_grids.py",
    "packages/numpy/tests/test_histograms.py",
    "packages/numpy/tests/test_linalg.py",
    "packages/numpy/tests/test_polynomials.py",
    "packages/numpy/tests/test_searching.py",
    "packages/random/tests/test_gamma_and_counts.py",
    "packages/random/tests/test_samples.py",
    "packages/reference/tests/test_nonsymmetric.py",
    "packages/scipy/tests/test_linalg.py",
    "packages/scipy/tests/test_special.py",
    "packages/scipy/tests/test_stats.py",
)
FIRST_CALLS = ("integration/compilation/test_first_calls.py",)  # NumPy's bits are XLA's
_RECORDED = "integration/oracle/test_recorded_values.py"


@dataclass(frozen=True, slots=True)
class Machine:
    """A choice of instruction sets.

    Attributes:
      needs: the processor's features that it uses, as /proc/cpuinfo names them.
      xla: the newest instruction set of XLA's programs.
      openblas: the processor whose kernels OpenBLAS uses.
      numpy: patterns of the features, of those NumPy has loops for, that it must not use.
      plugins: modules of this folder that pytest loads.
      short: what the short run has of it.
    """

    name: str
    needs: str = ""
    xla: str = ""
    openblas: str = ""
    numpy: str = ""
    plugins: tuple[str, ...] = ()
    short: tuple[str, ...] = ()


_AVX512 = "avx512f avx512cd avx512bw avx512dq avx512vl"
_AFTER_SKYLAKE = "AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
MACHINES = (
    Machine(
        "nehalem",
        "sse4_2",
        "SSE4_2",
        "Nehalem",
        "*",
        plugins=("without_float16",),
        short=(_RECORDED, *FIRST_CALLS),
    ),
    Machine("sandybridge", "avx", "AVX", "Sandybridge", "*"),
    Machine("haswell", "avx2 fma", "AVX2", "Haswell", "X86_V4 AVX512*"),
    Machine("zen", "avx2 fma", "AVX2", "Zen", "X86_V4 AVX512*"),
    Machine("skylake-x", _AVX512, "AVX512", "SkylakeX", _AFTER_SKYLAKE),
    Machine(
        "last-place",
        plugins=("last_place",),
        # The recorded values meet other last places on the oldest processor.
        short=("packages/nn/src", "packages/numpy/src"),
    ),
)


def processor_features() -> set[str]:
    """The processor's features, from Linux; empty elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    return next((set(x.partition(":")[2].split()) for x in lines if x.startswith("flags")), set())


def numpy_features() -> list[str]:
    """The features of this processor that NumPy has loops of their own for."""
    extensions = np.show_config(mode="dicts").get("SIMD Extensions", {})  # pyright: ignore
    return extensions.get("found", [])


def environment(machine: Machine) -> dict[str, str]:
    """The variables that make this machine pass for another."""
    variables = dict(os.environ)
    join = lambda name, by, part: by.join(filter(None, (os.environ.get(name), part)))
    variables["PYTHONPATH"] = join("PYTHONPATH", os.pathsep, str(ROOT / "tools"))
    if machine.xla:
        variables["XLA_FLAGS"] = join("XLA_FLAGS", " ", f"--xla_cpu_max_isa={machine.xla}")
    if machine.openblas:
        variables["OPENBLAS_CORETYPE"] = machine.openblas
    patterns = machine.numpy.split()
    matches = lambda name: any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
    variables["NPY_DISABLE_CPU_FEATURES"] = " ".join(filter(matches, numpy_features()))
    return variables


def command(machine: Machine, short: bool, arguments: Sequence[str]) -> list[str]:
    """The command that runs the tests on a machine."""
    first_calls = () if "last_place" in machine.plugins else FIRST_CALLS
    paths = machine.short if short else (*VALUES, *first_calls, *EXAMPLES)
    plugins = [part for name in machine.plugins for part in ("-p", name)]
    options = ["--doctest-modules", "--doctest-glob=*.md", "-q", "-n", "auto"]
    return [sys.executable, "-m", "pytest", *plugins, *options, *paths, *arguments]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests on each machine that this one can pass for; the status tells of failures."""
    names = [machine.name for machine in MACHINES]
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="Other arguments go to pytest.", allow_abbrev=False
    )
    parser.add_argument("--on", action="append", choices=names, help="a machine, by default all")
    parser.add_argument("--short", action="store_true", help="a part that takes about a minute")
    options, remaining = parser.parse_known_args(arguments)
    features, outcomes = processor_features(), {}
    for machine in MACHINES:
        if machine.name not in (options.on or names) or (options.short and not machine.short):
            continue
        if missing := set(machine.needs.split()) - features:
            outcomes[machine.name] = f"left out: this processor lacks {', '.join(sorted(missing))}"
            continue
        print(f"\n=== {machine.name}", flush=True)
        run = command(machine, options.short, remaining)
        status = subprocess.run(run, cwd=ROOT, env=environment(machine), check=False).returncode
        outcomes[machine.name] = f"failed with exit status {status}" if status else "passed"
    print()
    for name, outcome in outcomes.items():
        print(f"{name:<12} {outcome}")
    return any(outcome.startswith("failed") for outcome in outcomes.values())


if __name__ == "__main__":
    sys.exit(main())

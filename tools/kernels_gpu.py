"""Compile kernels for an H100 on a machine without a GPU, and hold the table of what compiles.

    python tools/kernels_gpu.py                  compile all; compare with the table in the guide
    python tools/kernels_gpu.py --write          write the table
    python tools/kernels_gpu.py matmul softmax   compile the kernels and operations of these names

XLA's plugin for CUDA compiles, the wheel ``jax-cuda13-pjrt`` of jaxlib's version, which needs no
driver and no other wheel. The kernels are those of ``integration/kernel_cases`` and of the tests
of ``packages/kernels``. Without the plugin the exit status is 2, and nothing is compiled.
"""

import argparse
import os
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from jaxlib import xla_client
from jaxlib.mlir import ir as mlir

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "integration"))
os.environ["RICCI_PLATFORMS"] = "cpu"  # the plugin compiles; it has no device to start

from kernel_cases.gpu_kernels import KERNELS  # noqa: E402
from kernel_cases.gpu_operations import OPERATIONS, operation_call  # noqa: E402
from kernel_cases.ops import OPS  # noqa: E402
from kernel_cases.triton_machine import context, launches  # noqa: E402

import ricci  # noqa: E402

GUIDE = ROOT / "docs" / "devices" / "kernels-on-gpus.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
# The facts of a card that the compiler asks for, as a text proto of XLA's.
H100 = """gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
  shared_memory_per_core: 233472 shared_memory_per_block_optin: 232448 threads_per_core_limit: 2048
  core_count: 132 fpus_per_core: 128
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  thread_dim_limit_x: 1024 thread_dim_limit_y: 1024 thread_dim_limit_z: 64
  memory_bandwidth: 3352320000000 l2_cache_size: 52428800 clock_rate_ghz: 1.98
  device_memory_size: 84942979072 registers_per_core_limit: 65536 registers_per_block_limit: 65536
  cuda_compute_capability { major: 9 minor: 0 }
  name: "NVIDIA H100 80GB HBM3" driver_version: "13.0.0" runtime_version: "13.0.0"
  compile_time_toolkit_version: "13.0.0" dnn_version: "9.12.0"
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 12 patch: 0 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""


class Result(NamedTuple):
    """The outcome of a kernel.

    Attributes:
      name: the kernel's name.
      kind: the dtype of an operation's operands, or ``""``.
      problem: why it was not compiled; ``""`` if it was.
      is_refused: whether Ricci refused it, before the compiler.
    """

    name: str
    kind: str
    problem: str = ""
    is_refused: bool = False


class Compiler:
    """The compiler of XLA's plugin, for one described card.

    Args:
      plugin: the file of the plugin.
    """

    def __init__(self, plugin: Path) -> None:
        api = xla_client.load_pjrt_plugin_dynamically("cuda", str(plugin))
        xla_client.initialize_pjrt_plugin("cuda")
        self.topology = xla_client.make_c_api_device_topology(
            api, "", topology="1x1x1", target_config=H100
        )
        (self.device,) = self.topology._make_compile_only_devices()
        self.context = context()

    def compile(self, text: str) -> None:
        """Compile a lowered module."""
        options = xla_client.CompileOptions()
        options.num_replicas = options.num_partitions = 1
        ids = np.array([[self.device.id]])
        options.device_assignment = xla_client.DeviceAssignment.create(ids)
        devices = xla_client.DeviceList((self.device,))
        with self.context:
            self.device.client.compile(mlir.Module.parse(text), devices, options)

    def result(self, name: str, kind: str, call: Any, operands: Iterable[Any]) -> Result:
        """Lower, verify and compile a call."""
        try:
            lowered = (
                ricci.jit(lambda *xs: call(*xs))
                .trace(*operands)
                .lower(lowering_platforms=("cuda",))
            )
        except (NotImplementedError, TypeError, ValueError) as error:
            return Result(name, kind, str(error).splitlines()[0], True)
        text = lowered.as_text()
        if not launches(text):
            return Result(name, kind, "the module holds no Triton kernel")
        try:
            self.compile(text)
        except RuntimeError as error:
            return Result(name, kind, str(error))
        return Result(name, kind)


def plugin_file() -> Path | None:
    """The plugin of the wheel ``jax-cuda13-pjrt``, or ``None`` if that is not installed."""
    spec = find_spec("jax_plugins.xla_cuda13") if find_spec("jax_plugins") else None
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "xla_cuda_plugin.so"


def results_of_cases(compiler: Compiler, names: list[str]) -> Iterator[Result]:
    """Compile the kernels and the operations of some names, or all."""
    chosen = lambda name: not names or any(part in name for part in names)
    for name, make in KERNELS.items():
        if chosen(name):
            with ricci.enable_x64("float64" in name):
                yield compiler.result(name, "", *make())
    for name, (function, operands) in OPS.items():
        if chosen(name):
            yield compiler.result(f"ops: {name}", "", function, operands)
    with ricci.enable_x64(True):
        for name, (_, kinds, _) in OPERATIONS.items():
            for kind in kinds if chosen(name) else ():
                yield compiler.result(name, kind, *operation_call(name, kind))


def results_of_tests(compiler: Compiler) -> Iterator[Result]:
    """Compile the kernels that the tests of ``packages/kernels`` interpret."""
    primitive: Any = sys.modules["ricci_kernels.calls._primitive"]
    original, calls = primitive.interpreted, {}

    def interpreted(jaxpr: Any, mapping: Any, aliases: Any, out_avals: Any) -> Any:
        calls.setdefault((jaxpr, mapping, aliases, tuple(out_avals)))
        return original(jaxpr, mapping, aliases, out_avals)

    primitive.interpreted = interpreted
    pytest.main(["-q", "-p", "no:cacheprovider", str(ROOT / "packages" / "kernels" / "tests")])
    primitive.interpreted = original
    for jaxpr, mapping, aliases, out_avals in list(calls):
        params = {
            "compiler_params": None,
            "cost_estimate": None,
            "debug": False,
            "grid_mapping": mapping,
            "input_output_aliases": aliases,
            "interpret": False,
            "jaxpr": jaxpr,
            "mesh": None,
            "metadata": None,
            "name": None,
            "out_avals": out_avals,
        }
        count = mapping.num_dynamic_grid_bounds
        refs = jaxpr.in_avals[: mapping.num_index_operands + mapping.num_inputs]
        sizes = [ricci.ShapeDtypeStruct((), np.int32)] * count
        blocks = mapping.block_mappings[: mapping.num_inputs]
        arrays = [r.inner_aval for r in refs[: mapping.num_index_operands]]
        arrays += [m.array_aval for m in blocks]
        operands = [*sizes, *[ricci.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays]]
        call = lambda *xs, params=params: primitive.pallas_call_p.bind(*xs, **params)
        yield compiler.result(f"a test's {jaxpr.debug_info.func_name}", "", call, operands)


def table(results: Iterable[Result]) -> str:
    """The table of operations and kernels: the dtypes for which each compiled, and was refused."""
    rows: dict[str, list[Result]] = {}
    for result in results:
        rows.setdefault(result.name, []).append(result)
    lines = ["| kernel or operation | compiled for | refused for |", "|---|---|---|"]
    for name, group in rows.items():
        shown = [
            ", ".join([r.kind or "H100" for r in group if bool(r.problem) == is_problem])
            for is_problem in (False, True)
        ]
        lines.append(f"| {name} | {shown[0]} | {shown[1]} |")
    return "\n".join(lines)


def check_table(text: str, is_written: bool) -> bool:
    """Whether the guide holds a table; writes it first if asked to."""
    guide = GUIDE.read_text()
    part = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", re.DOTALL)
    expected = part.sub(lambda _: f"{BEGIN}\n{text}\n{END}", guide)
    if is_written:
        GUIDE.write_text(expected)
    return is_written or guide == expected


def main() -> int:
    """Compile, and report; 1 if a kernel failed in the compiler, or the table differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    plugin = plugin_file()
    if plugin is None:
        print("nothing was compiled: the wheel jax-cuda13-pjrt is not installed", file=sys.stderr)
        return 2
    compiler = Compiler(plugin)
    results = []
    for result in results_of_cases(compiler, arguments.names):
        print(f"{result.name} {result.kind}", flush=True)  # the last line, if the process is ended
        results.append(result)
    of_tests = [] if arguments.names else list(results_of_tests(compiler))
    failed = [r for r in (*results, *of_tests) if r.problem and not r.is_refused]
    for result in (*results, *of_tests):
        if result.problem:
            word = "refused" if result.is_refused else "FAILED"
            print(f"{word}: {result.name} {result.kind}: {result.problem}")
    for what, group in (("cases", results), ("kernels of tests", of_tests)):
        refused = sum(r.is_refused for r in group)
        print(f"{what}: {len(group)}, of which {refused} were refused with a reason")
    if failed:
        return 1
    if arguments.names or check_table(table(results), arguments.write):
        return 0
    print(f"the table in {GUIDE.relative_to(ROOT)} differs: run with --write", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())

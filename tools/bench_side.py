"""Run workloads of `bench.py` on one side, in a separate process.

Run as `python bench_side.py {jax|ricci}`: reads the names of workloads from stdin, one JSON list,
and prints one JSON object of what each measured.
"""

import importlib
import json
import sys
from typing import Any

import bench_device_workloads as _device  # noqa: F401  (enters its workloads)
import bench_export_workloads as _export  # noqa: F401  (likewise)
import bench_jet_workloads as _jet  # noqa: F401  (likewise)
import bench_kernel_workloads as _kernels  # noqa: F401  (likewise)
import bench_lax_workloads as _lax  # noqa: F401  (likewise)
import bench_numpy_workloads as _numpy  # noqa: F401  (likewise)
import bench_shard_map_workloads as _shard_map  # noqa: F401  (likewise)
import bench_sparse_workloads as _sparse  # noqa: F401  (likewise)
from bench_workloads import WORKLOADS


def main() -> None:
    name = sys.argv[1]
    api = importlib.import_module(name)
    chosen = json.load(sys.stdin)
    measured: dict[str, Any] = {}
    for each in chosen:
        try:
            measured[each] = {"value": WORKLOADS[each](api)}
        except Exception as error:  # noqa: BLE001 - the report says what failed, and why
            measured[each] = {"error": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps({"version": api.__version__, "measured": measured}))


if __name__ == "__main__":
    main()

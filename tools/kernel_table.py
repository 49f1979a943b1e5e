"""Write the tables of `docs/devices/kernels.md`: what compiles for which TPU. It needs libtpu.

python tools/kernel_table.py
"""

import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np

import ricci
from ricci.experimental.topologies import get_topology_desc

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "integration")]

from kernel_cases import GROUPS, KERNELS, kernel_texts, operation_kernel  # noqa: E402
from kernel_cases.ops import OPS  # noqa: E402
from kernel_cases.remote import COLLECTIVES, on_mesh  # noqa: E402

PAGE = ROOT / "docs" / "devices" / "kernels.md"
START, END = "<!-- table: written by tools/kernel_table.py -->", "<!-- end -->"
TOPOLOGIES = {"v5e": "v5e:2x2", "v5p": "v5p:2x2x1", "v6e": "v6e:2x2"}
X = ricci.ShapeDtypeStruct((8, 128), np.float32)
_FRAME = re.compile(r"arith\.constant|func\.|vector\.load|tpu\.vector_store|\.yield|index_cast")
_SHOWN = 4


def operations(function) -> str:
    """The names of the operations of a kernel's body, the most frequent first."""
    lowered = ricci.jit(operation_kernel(function)).trace(X).lower(lowering_platforms=("tpu",))
    (text,) = kernel_texts(lowered.as_text())
    names = re.findall(r'"stable_mosaic\.([\w.]+)"', text)
    counts = Counter(name for name in names if not _FRAME.search(name))
    shown = [f"`{name}`" + (f" × {n}" if n > 1 else "") for name, n in counts.most_common(_SHOWN)]
    others = len(counts) - _SHOWN
    return ", ".join(shown) + (f" and {others} more" if others > 0 else "")


def compiles(function, types, device) -> bool:
    """Whether a function of arrays compiles for a device."""
    place = ricci.sharding.SingleDeviceSharding(device)
    described = [ricci.ShapeDtypeStruct(x.shape, x.dtype, sharding=place) for x in types]
    return _compiles(function, described)


def compiles_on_mesh(name: str, topology: str) -> str:
    """Whether a kernel that devices run together compiles: "yes" or "no"."""
    mesh = ricci.sharding.Mesh(np.array(get_topology_desc(topology).devices), ("x",))
    function, described = on_mesh(name, mesh)
    return "yes" if _compiles(function, [described]) else "no"


def _compiles(function, described) -> bool:
    try:
        ricci.jit(lambda *xs: function(*xs)).lower(*described).compile()
    except (NotImplementedError, RuntimeError, ValueError) as error:
        print(f"{error}"[:300], file=sys.stderr)
        return False
    return True


def table() -> str:
    """The tables of operations by group, and of kernels."""
    devices = [get_topology_desc(name).devices[0] for name in TOPOLOGIES.values()]
    marks = lambda function, types: " | ".join(
        "yes" if compiles(function, types, device) else "no" for device in devices
    )
    head = " | ".join(TOPOLOGIES)
    lines: list[str] = []
    for group, row in GROUPS.items():
        lines += [
            "",
            f"### {group}",
            "",
            f"| operation | becomes | {head} |",
            "|---|---|---|---|---|",
        ]
        for name, function in row.items():
            kernel = operation_kernel(function)
            lines.append(f"| {name} | {operations(function)} | {marks(kernel, [X])} |")
    for title, kernels in {"Kernels": KERNELS, "Ready-made kernels and gradients": OPS}.items():
        lines += ["", f"### {title}", "", f"| kernel | {head} |", "|---|---|---|---|"]
        for name, (function, types) in kernels.items():
            lines.append(f"| {name} | {marks(function, types)} |")
    lines += [
        "",
        "### Copies between four devices",
        "",
        f"| kernel | {head} |",
        "|---|---|---|---|",
    ]
    for name in COLLECTIVES:
        marked = " | ".join(compiles_on_mesh(name, topology) for topology in TOPOLOGIES.values())
        lines.append(f"| {name.replace('_', ' ')} along a ring | {marked} |")
    return "\n".join(lines[1:])


def main() -> None:
    """Rewrite the page."""
    before, _, tail = PAGE.read_text().partition(START)
    _, _, after = tail.partition(END)
    PAGE.write_text(f"{before}{START}\n\n{table()}\n\n{END}{after}")


if __name__ == "__main__":
    main()

"""Runs every fault on Ricci and on the oracle, and prints a table of what the others noticed.

    python -m host_cases [--write FILE] [NAME…]

``--write`` puts the table between the two marks of a document.
"""

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import hosts

from host_cases.faults import FAULTS

PROGRAM = Path(__file__).parent / "program.py"
ORACLE = os.environ.get("RICCI_ORACLE_PYTHON", "")
LIMIT = 40.0
OF_RANK_0 = ("kill", "stop", "loop", "raise")
HEAD = """\
| what one of two processes does | ends the others after | what they say | JAX 0.11.2 |
|---|---|---|---|
"""
# Lines of the runtime that stand before or behind what matters.
_NOISE = re.compile(
    r"^(\s*@ |\*\*\*|=== Source|external/|[EWI]\d{4} |\[Gloo\]|RPC: |\s*File |\s+\S+$)"
)


def run(side: str, fault: str, victim: int) -> list[hosts.Ended]:
    """Run the program with a fault on one side, ``ricci`` or ``jax``."""
    python = (sys.executable,) if side == "ricci" else (ORACLE,)
    flags = f"--xla_force_host_platform_device_count={hosts.DEVICES}" if side == "jax" else ""
    stuck = [victim] if fault == "stop" else []
    with tempfile.TemporaryDirectory() as folder:
        return hosts.run(
            PROGRAM,
            2,
            *(side, fault, str(victim), folder),
            limit=LIMIT,
            variables={"XLA_FLAGS": flags},
            python=python,
            stuck=stuck,
        )


def seconds(end: hosts.Ended) -> str:
    """Seconds from the fault to the end of a process."""
    if end.code is None:
        return f"hangs (killed after {LIMIT:.0f} s)"
    began = [line.split()[1] for line in end.out.splitlines() if line.startswith("fault")]
    took = end.at - float(began[0]) if began else end.seconds
    return f"{took:.1f} s" + ("" if began else " after its start")


def said(end: hosts.Ended) -> str:
    """The last message of a process, on one line."""
    text = end.err.split("Traceback (most recent call last):")[-1]
    lines = [line for line in text.splitlines() if line.strip() and not _NOISE.match(line)]
    message = " ".join(line.strip() for line in lines)
    message = re.sub(r"^.*?(?:ProcessFailure|ProgramMismatch|RuntimeError): ", "", message)
    message = re.sub(r"/\S*/(?=\w+\.py)", "", message)
    message = re.sub(r"process \d+ on \w+", "process 4711 on host", message)
    return (message[:420] + "…" if len(message) > 420 else message).replace("|", "\\|")


def of_oracle(end: hosts.Ended, whole: hosts.Ended) -> str:
    """The oracle's outcome, in a few words."""
    if end.code is None:
        return seconds(end)
    if end.code == 0:
        same = whole.out.split("step 2")[0] == end.out.split("step 2")[0]
        return f"goes on, and ends as if nothing had happened ({'' if same else 'other '}values)"
    named = re.search(r"stopped sending heartbeats\):\n(\d+)\n", end.err)
    who = f"names task {named[1]}" if named else "names none"
    if "leader task" in end.err:
        who = "names the leader"
    how = "aborts" if end.code < 0 else "error"
    return f"{how} after {seconds(end)}, {who}"


def row(fault: str, victim: int) -> str:
    """The line of the table for a fault of a rank."""
    case = FAULTS[fault]
    ours = run("ricci", fault, victim)[1 - victim]
    theirs = "not run"
    if ORACLE:
        ends = run("jax", fault, victim)
        theirs = of_oracle(ends[1 - victim], ends[victim])
    who = "rank 0, the coordinator: " if victim == 0 else ""
    return f"| {who}{case.title} | {seconds(ours)} | {said(ours)} | {theirs} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    names = options.names or [n for n in FAULTS if n not in ("none", "comes late", "preempted")]
    cases = [(name, 1) for name in names] + [(n, 0) for n in OF_RANK_0 if n in names]
    lines = []
    for name, victim in cases:
        lines.append(row(name, victim))
        print(lines[-1], flush=True)
    if options.write:
        text = options.write.read_text()
        table = HEAD + "\n".join(lines)
        before, _, rest = text.partition("<!-- faults -->\n")
        after = rest.partition("<!-- end of faults -->")[2]
        options.write.write_text(f"{before}<!-- faults -->\n{table}\n<!-- end of faults -->{after}")


if __name__ == "__main__":
    main()

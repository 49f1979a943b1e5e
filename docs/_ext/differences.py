"""What differs from JAX and what is missing, from the tables by which the tests accept it.

A difference that no row of these tables covers fails a test; a row that covers none does, too.
"""

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
for folder in ("tools", "integration"):  # programs of ours, which no wheel holds
    if str(ROOT / folder) not in sys.path:
        sys.path.append(str(ROOT / folder))

edge = importlib.import_module("edge_cases.differences")
lax_calls = importlib.import_module("lax_cases.bad_differences")
lax_functions = importlib.import_module("lax_cases.differences")
numpy_calls = importlib.import_module("numpy_cases.differences")
accepted = importlib.import_module("device_cases.accepted")
parity = importlib.import_module("parity_cases")
names = importlib.import_module("surface")
table = importlib.import_module("jax._table")
absent = importlib.import_module("jax._unsupported")

FILES = {
    "tools/data/surface.tsv",
    "tools/data/surface_reasons.tsv",
    "integration/edge_cases/differences.py",
    "integration/lax_cases/differences.py",
    "integration/lax_cases/bad_differences.py",
    "integration/numpy_cases/differences.py",
    "integration/data/device_differences.txt",
    "integration/parity_cases/accepted.txt",
    "packages/jax/src/jax/_table.py",
    "packages/jax/src/jax/_unsupported.py",
}


def _markdown(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _code(text: str) -> str:
    return " ".join(f"`{word}`" for word in text.split())


def surface() -> str:
    """Return how many public names there are, and how many of them are here."""
    reports = list(names.examine(names.read_names(), names.read_reasons(), set()))
    here, absent_names = sum(r.present for r in reports), sum(len(r.missing) for r in reports)
    return (
        f"JAX 0.12.0.1 has {here + absent_names:,} public names in the namespaces that "
        f"`tools/data/surface.tsv` lists, and {here:,} of them are here. The other "
        f"{absent_names} are [listed with their reasons](#what-is-missing)."
    )


def missing() -> str:
    """Return the table of names that are not here."""
    reasons = [r for r in names.read_reasons() if r.what in ("missing", "namespace")]
    rows = [(f"`{r.namespace}`", _listed(r.names), r.text) for r in reasons]
    return _markdown(("namespace", "names", "why, and what to use instead"), rows)


def _listed(patterns: tuple[str, ...]) -> str:
    return "all of it" if "*" in patterns else _code(" ".join(patterns))


def unsupported() -> str:
    """Return the table of what can be imported and refuses to be used, with its advice."""
    rows = []
    for module, members in table.TABLE.items():
        mine = [n for n, place in members.items() if place.startswith(table.UNSUPPORTED)]
        if mine:
            rows.append((f"`jax.{module}`", _code(" ".join(mine)), _advice(members[mine[-1]])))
    return _markdown(("module of the drop-in", "names", "what it would do"), rows)


def _advice(place: str) -> str:
    """What the docstring of a name that refuses says."""
    text = (getattr(absent, place.partition(":")[2]).__doc__ or "").partition("\n")[0]
    return text.removeprefix("Not supported: ").rstrip(".").capitalize()


def signatures() -> str:
    """Return the table of names that take other parameters."""
    rows = [
        (f"`{r.namespace}`", _listed(r.names), r.text)
        for r in names.read_reasons()
        if r.what == "signature"
    ]
    return _markdown(("namespace", "names", "what differs"), rows)


def _grouped(rows: Iterable[tuple[str, str]]) -> str:
    """A table of reasons, each once, with the functions that it holds for."""
    found: dict[str, dict[str, None]] = {}
    for functions, reason in rows:
        found.setdefault(reason, {}).update(dict.fromkeys(functions.split()))
    cells = (
        ("all" if "*" in functions else _code(" ".join(functions)), reason)
        for reason, functions in found.items()
    )
    return _markdown(("functions", "what differs, and why"), cells)


def numpy_api() -> str:
    """Return in what functions of the NumPy API differ."""
    return _grouped((r.functions, r.reason) for r in numpy_calls.EXPECTED if r.side == "*")


def lax() -> str:
    """Return in what functions of lax differ, beside how their programs are printed."""
    rows = [r for r in lax_functions.EXPECTED if r.aspect != "jaxpr"]
    return _grouped((r.functions, r.reason) for r in rows)


def printed() -> str:
    """Return in what printed programs differ."""
    return _grouped((r.functions, r.reason) for r in lax_functions.EXPECTED if r.aspect == "jaxpr")


def edges() -> str:
    """Return in what values differ at the edges of functions' domains."""
    return _grouped((r.function, r.reason) for r in edge.EXPECTED)


def devices() -> str:
    """Return the table of accepted differences of programs over several devices."""
    rows = (
        (f"`{row.name}`", f"{row.aspect}: `{row.ours}`", f"`{row.theirs}`", row.reason)
        for row in accepted.ACCEPTED
    )
    return _markdown(("program", "Ricci", "JAX", "why"), rows)


def programs() -> str:
    """Return the table of accepted differences of whole programs."""
    rows = (
        (row.title, f"`{row.theirs}`", f"`{row.ours}`", row.reason)
        for row in parity.ACCEPTED.values()
    )
    return _markdown(("program", "JAX", "Ricci", "why"), rows)


def errors() -> str:
    """Return where an error has another class."""
    rows = (
        (f"`{r.call}`", r.theirs or "no error", r.ours or "no error", r.reason)
        for r in lax_calls.EXPECTED
    )
    return _markdown(("call", "JAX", "Ricci", "why"), rows)

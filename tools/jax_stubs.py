"""Write stubs of the drop-in's modules, which are not files, for type checkers and editors.

    python tools/jax_stubs.py

They lie in packages/jax, where git ignores them; its sdist and its wheel hold them. Ricci is read
as text, since builds have nothing installed that it could be imported with.
"""

import ast
import re
import runpy
from pathlib import Path

PACKAGES = Path(__file__).resolve().parent.parent / "packages"
RICCI = PACKAGES / "ricci" / "src" / "ricci"
JAX = PACKAGES / "jax" / "src" / "jax"
INNER = re.compile(r"^ *from \. import (\w+) as \1$", re.MULTILINE)
SPECIAL = re.compile(r"^from \S+ import (__\w+__) as \1$", re.MULTILINE)  # which no star brings
# The distributions are modules that ``ricci.scipy.stats`` makes; checkers see any names in them.
STATS = PACKAGES / "scipy" / "src" / "ricci_scipy" / "stats"
DISTRIBUTIONS = ("_continuous.py", "_discrete.py", "_multivariate.py")
PUBLIC = re.compile(r"^__all__ \+?= (\[[^]]*\])", re.MULTILINE)
ANY_NAME = "from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n"


def stubs() -> dict[str, str]:
    """Return the text of each stub, by its path in the package."""
    missing = runpy.run_path(str(JAX / "_table.py"))["NOT_IN_JAX"]
    texts: dict[str, str] = {}
    for file in sorted(RICCI.rglob("*.py")):
        path = file.relative_to(RICCI)
        names = [name for name in path.with_suffix("").parts if name != "__init__"]
        if any(name.startswith("_") for name in names) or ".".join(names) in missing:
            continue
        module = ".".join(["ricci", *names])
        source = file.read_text(encoding="utf-8")
        lines = [f"from {module} import *"]
        lines += [f"from {module} import {n} as {n}" for n in SPECIAL.findall(source)]
        lines += [f"from . import {n} as {n}" for n in INNER.findall(source) if names]
        texts[path.with_suffix(".pyi").as_posix()] = "\n".join(lines) + "\n"
    names = sorted({path.partition("/")[0].removesuffix(".pyi") for path in texts} - {"__init__"})
    texts["__init__.pyi"] += "".join(f"from . import {n} as {n}\n" for n in [*names, "version"])
    texts["__init__.pyi"] += "".join(
        f"from .version import {n} as {n}\n" for n in ("__version__", "__version_info__")
    )
    for file in DISTRIBUTIONS:
        for names in PUBLIC.findall((STATS / file).read_text(encoding="utf-8")):
            texts |= {f"scipy/stats/{name}.pyi": ANY_NAME for name in ast.literal_eval(names)}
    return texts


def write() -> None:
    """Write the stubs, and remove those of modules that are gone."""
    texts = stubs()
    for stub in JAX.rglob("*.pyi"):
        if stub.relative_to(JAX).as_posix() not in texts:
            stub.unlink()
    for path, text in texts.items():
        stub = JAX / path
        stub.parent.mkdir(parents=True, exist_ok=True)
        stub.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()

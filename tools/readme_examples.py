"""Run the examples of a README with only the packages that it tells users to install.

    python tools/readme_examples.py packages/nn/README.md
    python tools/readme_examples.py packages/nn/README.md --without ricci_xla jaxlib

Examples are the code blocks marked ``python``: sessions with prompts, whose output is compared, and
plain programs. The blocks of a README share their names, as if they were typed one after the other.
Modules that are named behind ``--without`` are not found, as if they were not installed: so that
environments which tests share with examples do not hide that something is missing.
"""

import doctest
import re
import sys
import tempfile
from collections.abc import Sequence
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_block(code: str, name: str, line: int, names: dict[str, Any]) -> int:
    """Run one block in a namespace; return how many of its examples fail."""
    if ">>>" not in code:
        exec(compile("\n" * line + code, name, "exec"), names)
        return 0
    test = doctest.DocTestParser().get_doctest(code, names, name, name, line)
    # The runner clears the namespace that it is given, so that later blocks need it back.
    test.globs = names
    return doctest.DocTestRunner(optionflags=OPTIONS).run(test, clear_globs=False).failed


def run(file: Path) -> tuple[int, int]:
    """Run all examples of a README; return the number of blocks and of failures.

    What an example writes goes to a folder of its own.
    """
    text = file.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    failed = blocks = 0
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for block in BLOCK.finditer(text):
            blocks += 1
            line = text.count("\n", 0, block.start(1))
            failed += run_block(block[1], str(file), line, names)
    return blocks, failed


def main(file: str, without: Sequence[str]) -> int:
    """Run the examples; return the exit status."""
    for name in filter(find_spec, without):
        sys.modules[name] = None  # pyright: ignore[reportArgumentType]
    blocks, failed = run(Path(file).resolve())
    print(f"{file}: {blocks} examples, {failed} failures")
    return 1 if failed or not blocks else 0


if __name__ == "__main__":
    installed, _, left_out = " ".join(sys.argv[1:]).partition(" --without ")
    sys.exit(main(installed, left_out.split()))

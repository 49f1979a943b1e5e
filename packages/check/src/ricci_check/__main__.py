"""``python -m ricci_check module:function 'float32[8,3]' 'int32[]'``: check from a shell."""

import argparse
import importlib
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import ShapeDtypeStruct

from ._check import check
from ._rules import SEVERITIES


def described_array(text: str) -> ShapeDtypeStruct:
    """Parse a type such as ``float32[8,3]``.

    Raises:
      argparse.ArgumentTypeError: if the text is not a type.

    Example:
      >>> from ricci_check.__main__ import described_array
      >>> described_array("float32[8,3]")
      ShapeDtypeStruct(shape=(8, 3), dtype=float32)
    """
    match = re.fullmatch(r"(\w+)\[([\d,]*)\]", text.replace(" ", ""))
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a type such as float32[8,3] or int32[]")
    name, sizes = match.groups()
    try:
        return ShapeDtypeStruct([int(n) for n in sizes.split(",") if n], name)
    except TypeError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def imported_function(text: str) -> Callable[..., Any]:
    """Import the function that a text such as ``package.module:function`` names.

    Raises:
      argparse.ArgumentTypeError: if it does not exist.

    Example:
      >>> from ricci_check.__main__ import imported_function
      >>> imported_function("ricci_lax:sin").__name__
      'sin'
    """
    module, _, name = text.partition(":")
    if not (module and name):
        raise argparse.ArgumentTypeError(f"{text!r} does not have the form module:function")
    try:
        target: Any = importlib.import_module(module)
        for part in name.split("."):
            target = getattr(target, part)
    except (ImportError, AttributeError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return target


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a function; return 1 if there are findings of the severity ``--fail-on``."""
    parser = argparse.ArgumentParser(prog="python -m ricci_check")
    parser.description = "Trace a function once and report what would go wrong when it runs."
    parser.add_argument("function", type=imported_function, help="module:function")
    parser.add_argument("argument", type=described_array, nargs="*", help="such as float32[8,3]")
    parser.add_argument("--select", action="append", help="a rule to check, such as RC1")
    parser.add_argument("--ignore", action="append", default=[], help="a rule not to check")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--fail-on", choices=SEVERITIES, default="warning", help="exit with 1 for")
    options = parser.parse_args(arguments)
    report = check(options.function, select=options.select, ignore=options.ignore)(
        *options.argument
    )
    print(report.to_json(indent=2) if options.json else report)
    least = SEVERITIES.index(options.fail_on)
    return int(any(SEVERITIES.index(finding.severity) >= least for finding in report))


if __name__ == "__main__":
    sys.exit(main())

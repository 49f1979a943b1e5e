"""Compares an example's output with the output shown: numbers up to their printed digits."""

import ast
import contextlib
import doctest
import io
import re

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULE_OF_ERROR = re.compile(r"^[\w.]+\.(?=\w+Error\b)")
NUMBER = re.compile(r"(?<![\w.])([-+]?\d+\.?\d*(?:e[-+]?\d+)?)(?![\w.])")


class Digits(doctest.OutputChecker):
    """Compares numbers as far as they are printed, and all else but space and empty lines."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        got = "".join(line for line in got.splitlines(keepends=True) if line.strip())
        want, got = (MODULE_OF_ERROR.sub("", text) for text in (want, got))
        if super().check_output(want, got, optionflags):
            return True
        wanted, found = NUMBER.split(want), NUMBER.split(got)
        if len(wanted) != len(found):
            return False
        words = ["".join(text.split()) for text in wanted[::2]]
        if words != ["".join(text.split()) for text in found[::2]]:
            return False
        return all(map(same_number, wanted[1::2], found[1::2]))


def same_number(want: str, got: str) -> bool:
    """Tell whether a number is the one that is printed, cut off or with a float32's error."""
    if want == got:
        return True
    if "." not in want or "." not in got:
        return False
    decimals = len(want.partition(".")[2].partition("e")[0])
    cut = 10.0**-decimals if decimals > 2 and "e" not in want else 0.0
    return abs(float(want) - float(got)) <= cut + 1e-6 * abs(float(want))


def same(want: str, got: str) -> bool:
    """Tell whether the printed text equals the expected text."""
    return Digits().check_output(f"{want.strip()}\n", f"{got}\n", OPTIONS)


def run(text: str, name: str, names: dict) -> None:
    """Run the examples in a text; raise with the report of those that fail."""
    example = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    assert example.examples
    report: list[str] = []
    runner = doctest.DocTestRunner(Digits(), verbose=False, optionflags=OPTIONS)
    runner.run(example, out=report.append)
    assert not report, "\n".join(report)


def outcome(source: str, names: dict) -> tuple[str, list[str]]:
    """Run statements as the prompt would.

    Returns:
        What they print, and the names of the error's class and of the classes above it.
    """
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for statement in ast.parse(source).body:
            code = compile(ast.Interactive([statement]), "<example>", "single")
            try:
                exec(code, names)
            except Exception as error:  # noqa: BLE001 - its class is compared
                return printed.getvalue().rstrip(), [kind.__name__ for kind in type(error).__mro__]
    return printed.getvalue().rstrip(), []


def agrees(want: str, found: tuple[str, list[str]]) -> bool:
    """Tell whether an outcome is the one shown in a document: the output, or an error's name."""
    error = re.search(r"(?:Traceback \(most recent call last\): )?([\w.]*Error)(?::|$)", want)
    if error is None:
        return not found[1] and same(want, found[0])
    return error[1].rpartition(".")[2] in found[1] and same(want[: error.start()], found[0])

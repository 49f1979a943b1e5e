"""The examples of the specification run from top to bottom, and print what they say there."""

import doctest
import inspect
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import ricci
import ricci.numpy

DATA = Path(__file__).with_name("data")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

# The functions that the specification documents.
DOCUMENTED = frozenset(
    "jit disable_jit xla_computation make_jaxpr eval_shape device_put device_put_replicated "
    "device_put_sharded device_get default_backend named_call grad value_and_grad jacfwd jacrev "
    "hessian jvp linearize linear_transpose vjp custom_jvp custom_jvp.defjvps custom_vjp "
    "closure_convert checkpoint vmap numpy.vectorize pmap devices local_devices process_index "
    "device_count local_device_count process_count".split()
)
MODULE_OF_ERROR = re.compile(r"^[\w.]+\.(?=\w+Error\b)")
NUMBER = re.compile(r"(?<![\w.])([-+]?\d+\.?\d*(?:e[-+]?\d+)?)(?![\w.])")


def sections() -> dict[str, tuple[str, str]]:
    """Return, for each documented function, its signature and its examples."""
    text = (DATA / "public_api_examples.txt").read_text()
    parts = re.split(r"^jax\.([\w.]+)(\(.*\))\n-+\n", text, flags=re.MULTILINE)
    return {
        name: (signature, examples)
        for name, signature, examples in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    }


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


@pytest.fixture
def names(monkeypatch, eight_devices):
    """The names that examples may use; `jax` is Ricci, imported as it may be."""
    monkeypatch.setitem(sys.modules, "jax", ricci)
    monkeypatch.setitem(sys.modules, "jax.numpy", ricci.numpy)
    functions = ("jvp", "vmap", "pmap", "custom_vjp", "closure_convert", "xla_computation")
    found = {name: getattr(ricci, name) for name in functions if hasattr(ricci, name)}
    return {**found, "jax": ricci, "jnp": ricci.numpy, "np": np, "partial": partial}


def run(text: str, name: str, names: dict) -> None:
    """Run the examples in a text; raise with the report of those that fail."""
    example = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    assert example.examples
    report: list[str] = []
    runner = doctest.DocTestRunner(Digits(), verbose=False, optionflags=OPTIONS)
    runner.run(example, out=report.append)
    assert not report, "\n".join(report)


@pytest.mark.parametrize("function", sections())
def test_documented_example(function, names):
    run(sections()[function][1], function, names)


def test_every_documented_function_has_an_example():
    assert set(sections()) == DOCUMENTED


@pytest.mark.parametrize("function", sections())
def test_documented_parameters_are_taken(function):
    documented = re.findall(r"(?:^\(|, )\**(\w+)", sections()[function][0])
    found = ricci
    for part in function.split("."):
        found = getattr(found, part)
    signature = inspect.signature(found)
    by_keyword = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    missing = [name for name in documented if name not in signature.parameters]
    assert not missing or by_keyword


@pytest.mark.parametrize("document", ["notebook_first", "notes_overview", "notes_transformations"])
def test_document(document, names):
    run((DATA / f"{document}.txt").read_text(), document, names)


@pytest.mark.parametrize(
    ("want", "got", "same"),
    [
        ("[ 1.  0.961043]", "[1.0       0.9610429]", True),
        ("0.961043", "0.9610453", False),
        ("[1 2 3]", "[1 2 4]", False),
        ("(480.,)", "(481.,)", False),
        ("f32[2] = sin a", "f32[3] = sin a", False),
        ("Array(1., dtype=float32)", "Array(1., dtype=float64)", False),
    ],
)
def test_numbers_are_compared_as_far_as_printed(want, got, same):
    assert Digits().check_output(want, got, OPTIONS) is same

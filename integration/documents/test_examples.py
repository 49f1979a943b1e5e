"""Examples of the public functions run from top to bottom, and print the results shown."""

import inspect
import re
from pathlib import Path

import pytest
from example_cases.checking import run, same

import ricci

CASES = Path(__file__).parents[1] / "example_cases"

# The functions that the specification documents.
DOCUMENTED = frozenset(
    "jit disable_jit xla_computation make_jaxpr eval_shape device_put device_put_replicated "
    "device_put_sharded device_get default_backend named_call grad value_and_grad jacfwd jacrev "
    "hessian jvp linearize linear_transpose vjp custom_jvp custom_jvp.defjvps custom_vjp "
    "closure_convert checkpoint vmap numpy.vectorize pmap devices local_devices process_index "
    "device_count local_device_count process_count".split()
)


def sections() -> dict[str, tuple[str, str]]:
    """Return, for each documented function, its signature and its examples."""
    text = (CASES / "functions.txt").read_text()
    parts = re.split(r"^jax\.([\w.]+)(\(.*\))\n-+\n", text, flags=re.MULTILINE)
    return {
        name: (signature, examples)
        for name, signature, examples in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    }


@pytest.mark.sampled(9)
@pytest.mark.parametrize("function", sections())
def test_function(function, names):
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


@pytest.mark.parametrize("topic", ["arrays", "transformations"])
def test_topic(topic, names):
    run((CASES / f"{topic}.txt").read_text(), topic, names)


@pytest.mark.parametrize(
    ("want", "got", "agree"),
    [
        ("[ 1.  0.961043]", "[1.0       0.9610429]", True),
        ("0.961043", "0.9610453", False),
        ("[1 2 3]", "[1 2 4]", False),
        ("(480.,)", "(481.,)", False),
        ("f32[2] = sin a", "f32[3] = sin a", False),
        ("Array(1., dtype=float32)", "Array(1., dtype=float64)", False),
    ],
)
def test_numbers_are_compared_as_far_as_printed(want, got, agree):
    assert same(want, got) is agree

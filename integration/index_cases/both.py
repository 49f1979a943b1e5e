"""Many cases at once: traced one by one, and compiled as one program where none is an error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ricci_testing import Leaf, Request, Result, evaluate_with

from .case import Case

# Evaluated on either side: for each case its value and the derivatives by its inexact operands, or
# the class of the error. What can be differentiated is asked first.
_PROGRAM = """
import warnings

def is_inexact(x):
    return jnp.issubdtype(x.dtype, np.inexact)

def direction(y):
    return jnp.asarray(np.cos(np.arange(y.size)).reshape(y.shape)).astype(y.dtype)

def with_gradient(call):
    def run(*args):
        by = [i for i, x in enumerate(args) if is_inexact(x)]
        def of_inexact(*inexact):
            full = list(args)
            for i, x in zip(by, inexact):
                full[i] = x
            return call(*full)
        y, back = jax.vjp(of_inexact, *[args[i] for i in by])
        return y, (back(direction(y)) if by and is_inexact(y) else ())
    return run

def kind_of_error(call, args):
    try:
        jax.eval_shape(call, *args)
    except Exception as error:
        return type(error).__name__
    return ""

def probe(cases):
    errors, calls, operands = [], [], []
    for text, args in cases:
        call = eval(text, globals())
        error = kind_of_error(call, args)
        lost = error or kind_of_error(with_gradient(call), args)
        errors.append([error, lost])
        if not error:
            calls.append(call if lost else with_gradient(call))
            operands.append(args)
    values = jax.jit(lambda every: [c(*a) for c, a in zip(calls, every)])(operands)
    return {"errors": errors, "values": values}

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    answers = probe(cases)
answers
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a case on one side.

    Attributes:
        error: the class of the error that the call raises, or nothing.
        gradient_error: the same for its derivative.
        leaves: the value, then the derivatives.
    """

    error: str
    gradient_error: str
    leaves: tuple[Leaf, ...]

    @property
    def value(self) -> Leaf:
        """The value as the result of the call alone has it."""
        return replace(self.leaves[0], path="")


def request(cases: Sequence[Case]) -> Request:
    """The question about many cases, for the oracle or for this side."""
    return Request(_PROGRAM, {"cases": [(case.call, case.operands) for case in cases]})


def together(cases: Sequence[Case], result: Result) -> list[Answer]:
    """The answers that are in a result of `request`, one for each case."""
    assert result.error is None, result.error
    errors: dict[tuple[int, int], str] = {}
    values: dict[int, list[Any]] = {}
    for leaf in result.leaves:
        part, *places = [
            piece.rstrip("])'") for piece in leaf.path[2:].replace("(", "[").split("[")
        ]
        if not places:
            continue  # no values at all
        if part == "errors":
            errors[int(places[0]), int(places[1])] = leaf.value
        elif leaf.kind == "array":
            inner = "".join(f"[{place}]" for place in places[1:])
            values.setdefault(int(places[0]), []).append(replace(leaf, path=inner))
    answers, computed = [], 0
    for n in range(len(cases)):
        error, lost = errors[n, 0], errors[n, 1]
        leaves = () if error else tuple(values.get(computed, ()))
        computed += not error
        answers.append(Answer(error, lost, leaves))
    return answers


def eagerly(case: Case, namespace: Mapping[str, Any]) -> Result:
    """The outcome of a case on this side, called eagerly."""
    names = [f"a{i}" for i in range(len(case.operands))]
    source = (
        "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n"
        f"    found = ({case.call})({', '.join(names)})\nfound"
    )
    return evaluate_with(namespace, source, dict(zip(names, case.operands, strict=True)))

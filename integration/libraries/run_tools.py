"""Runs Ricci's tools on the training step of one library, on the drop-in.

`python run_tools.py NAME [TOOL…]`: NAME as in `tools_NAME.py`, whose `MODEL` is described in
`tool_model.py`; TOOL as in `TOOLS`. Each tool must give the right result, or refuse in a line that
the table `REFUSED` holds. On a step that fails half-way it must leave the user's objects as they
were. A tool that does not is listed with its error, and the exit status is 1.

`python run_tools.py NAME --train [BUNDLE]` takes two steps, with a warm start from the bundle.
"""

import importlib
import inspect
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from run_find_nan import line_of_cause
from tool_model import LAYERS, Model, poisoned

import jax
import ricci
from ricci.parallel import MemoryLimitError

ROWS = 4
TOLERANCE = 2e-4

# Refusals that are right: by library and tool, the class of the error and words of its message.
REFUSED: dict[tuple[str, str], tuple[str, str]] = {
    # The step writes the new values into the model, of which it would get a copy.
    ("flax_nnx", "bucketed"): ("TypeError", "step changes its argument model in place"),
    # It writes the new values into the model's variables, which would be lost.
    **{
        ("keras_fit", tool): ("TypeError", "train_on_batch changes arrays of objects")
        for tool in ("fit_memory", "roll", "bucketed")
    },
}


def leaves(tree: Any) -> list[np.ndarray]:
    """Return the arrays of a tree, random keys as words."""
    arrays = [x for x in jax.tree.leaves(tree) if isinstance(x, jax.Array | np.ndarray)]
    is_key = lambda x: jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key)
    return [np.array(jax.random.key_data(x) if is_key(x) else x) for x in arrays]


def compare(ours: list[np.ndarray], theirs: list[np.ndarray], tolerance: float = 0.0) -> None:
    """Raise an `AssertionError` where two lists of arrays differ."""
    assert len(ours) == len(theirs), f"{len(ours)} arrays instead of {len(theirs)}"
    for one, two in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance)


def outcome(model: Model, step: Callable[..., Any], rows: int = ROWS) -> list[np.ndarray]:
    """Return what a step on new arguments returns, and what the user's objects hold after it."""
    arguments = model.arguments(rows)
    result = step(*arguments)
    return leaves((result, model.state(arguments)))


class Unchanged:
    """New arguments; at the end the user's objects must be as they were, and work."""

    def __init__(self, model: Model) -> None:
        self.model, self.arguments = model, model.arguments(ROWS)

    def __enter__(self) -> tuple[Any, ...]:
        self.before = leaves(self.model.state(self.arguments))
        return self.arguments

    def __exit__(self, kind: object, *_: object) -> None:
        compare(leaves(self.model.state(self.arguments)), self.before)
        if kind is None:
            self.model.step(*self.arguments)


def find_nan(model: Model) -> None:
    """Find nothing in a healthy step, and the cause of a NaN."""
    with Unchanged(model) as arguments:
        healthy = ricci.find_nan(model.step)(*arguments)
        assert healthy is None, healthy
    with Unchanged(model) as arguments:
        negative = poisoned(arguments, arguments[-2])
        result = ricci.find_nan(model.step)(*negative)
    assert result is not None, "nothing found"
    made = result.forward or result.cause or result
    assert (made.operation, made.source.line) == ("log", line_of_cause(model.cause)), result


def check(model: Model) -> None:
    """Read the step."""
    with Unchanged(model) as arguments:
        result = ricci.check(model.step)(*arguments)
    assert not any(finding.code == "RC001" for finding in result), result
    with Unchanged(model) as arguments:
        assert ricci.check(model.fails)(*arguments)[0].code == "RC001"


def memory_plan(model: Model) -> None:
    """List what fills the memory, with what the step returns and writes into objects."""
    with Unchanged(model) as arguments:
        plan = ricci.memory_plan(model.step)(*arguments)
    assert plan.rows
    arguments = model.arguments(ROWS)
    before = leaves(model.state(arguments))
    results = leaves(model.step(*arguments))
    after = leaves(model.state(arguments))
    results += [x for x, old in zip(after, before, strict=True) if not np.array_equal(x, old)]
    assert plan.results >= sum(x.nbytes for x in results), plan


def fit_memory(model: Model) -> None:
    """Compute the same under a limit."""
    expected = outcome(model, model.step)
    with Unchanged(model) as arguments:
        unlimited = ricci.fit_memory(model.step, "1GB").plan(*arguments).unlimited
    for share in (1.0, 0.8):
        try:
            values = outcome(model, ricci.fit_memory(model.step, int(unlimited * share)))
        except MemoryLimitError as error:
            assert share < 1 and "least peak" in str(error), error
        else:
            compare(values, expected, TOLERANCE)


def precision(model: Model) -> None:
    """Follow the errors of all lines."""
    with Unchanged(model) as arguments:
        report = ricci.precision(model.step)(*arguments)
    assert report.lines
    assert not report.unfollowed, report.unfollowed


def roll(model: Model) -> None:
    """Compute the same with the layers as a loop."""
    rolled = ricci.roll(model.step)
    compare(outcome(model, rolled), outcome(model, model.step), TOLERANCE)
    with Unchanged(model) as arguments:
        report = rolled.report(*arguments)
    assert any(run.count == LAYERS for run in report.runs) or not model.layers, report


def bucketed(model: Model) -> None:
    """Compute the same with a padded batch."""
    step = ricci.bucketed(model.step, axis=model.batch, sizes=[8])
    for rows in (3, 5):
        compare(outcome(model, step, rows), outcome(model, model.step, rows), TOLERANCE)
    assert len(step.compiled) == 1, step.compiled


def plan(model: Model) -> None:
    """Plan the step's memory and time on a device."""
    with Unchanged(model) as arguments:
        assert ricci.parallel.plan(model.step)(*arguments).devices == 1
        assert len(ricci.parallel.communication(model.step)(*arguments)) == 0


def train(name: str, *options: str) -> str:
    """Run a training in another process, and return its output."""
    command = [sys.executable, *options[:-1], __file__, name, "--train", *options[-1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def warm_start(model: Model) -> None:
    """Take the step from a bundle in the second process, with the same result."""
    name = name_of(model)
    with tempfile.TemporaryDirectory() as folder:
        first, second = (train(name, str(Path(folder, "bundle"))) for _ in range(2))
    assert first.splitlines()[0] == second.splitlines()[0], (first, second)
    rows = [line for line in second.splitlines()[1:] if line.endswith("s)") or ":" in line]
    steps = [line for line in rows if "step" in line]
    assert steps and steps[0].startswith("warm"), second


def profile(model: Model) -> None:
    """Write a page with the lines of the step."""
    name = name_of(model)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        train(name, "-m", "ricci.profile", "-o", str(page), "")
        text = page.read_text(encoding="utf-8")
    assert f"tools_{name}.py" in text and "step" in text


def name_of(model: Model) -> str:
    """Return the NAME of a model."""
    return Path(inspect.getfile(model.cause)).stem.removeprefix("tools_")


TOOLS = {
    tool.__name__: tool
    for tool in (
        find_nan,
        check,
        memory_plan,
        fit_memory,
        precision,
        roll,
        bucketed,
        plan,
        warm_start,
        profile,
    )
}
# The tools that are called with a step that fails, beside `check`.
FAILING: dict[str, Callable[..., Any]] = {
    "find_nan": ricci.find_nan,
    "memory_plan": ricci.memory_plan,
    "fit_memory": lambda f: ricci.fit_memory(f, "1GB"),
    "precision": ricci.precision,
    "roll": ricci.roll,
    "plan": ricci.parallel.plan,
}


def failure(name: str, tool: str, model: Model) -> str | None:
    """Run a tool, and return its error in a line; none if all is right."""
    try:
        TOOLS[tool](model)
    except Exception as error:  # noqa: BLE001 (the table says which errors are right)
        kind, words = REFUSED.get((name, tool), ("", ""))
        if type(error).__name__ != kind or words not in str(error):
            traceback.print_exc()
            return f"{type(error).__name__}: {error}"
    else:
        if (name, tool) in REFUSED:
            return "is not refused"
    if tool in FAILING:
        try:
            with Unchanged(model) as arguments:
                FAILING[tool](model.fails)(*arguments)
        except ArithmeticError:
            return None
        except Exception as error:  # noqa: BLE001 (which it is is reported)
            traceback.print_exc()
            return f"the step that fails: {type(error).__name__}: {error}"
        return "the step that fails: no error"
    return None


def run(name: str, *tools: str) -> int:
    """Run the tools, and return how many are wrong."""
    model = importlib.import_module(f"tools_{name}").MODEL
    wrong = 0
    for tool in tools or TOOLS:
        text = failure(name, tool, model)
        wrong += text is not None
        print(f"{name}, {tool}: {(text or 'right')[:300]}", flush=True)
    return wrong


def run_training(name: str, bundle: str = "") -> None:
    """Take two steps, and print the result of the first and what came from the bundle."""
    start = ricci.warm_start(bundle) if bundle else None
    model = importlib.import_module(f"tools_{name}").MODEL
    results = [outcome(model, model.step) for _ in range(2)]
    print([float(np.sum(np.abs(x.astype(float)))) for x in results[0]])
    print(start)


if __name__ == "__main__":
    if "--train" in sys.argv:
        run_training(*(x for x in sys.argv[1:] if x != "--train"))
    else:
        sys.exit(1 if run(*sys.argv[1:]) else 0)

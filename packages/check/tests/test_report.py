"""The content and the forms of a report, and the choice of rules."""

import json
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import ricci_check
import ricci_lax as lax
import ricci_numpy as rnp
import ricci_random as random
from ricci_check import RULES, CheckError, check
from ricci_ir import ShapeDtypeStruct, array_moves
from ricci_xla import jit

KEY = random.key(0)
VECTOR = ShapeDtypeStruct((5,), "float32")


def everything(key, x):
    y = x[10]
    return (random.normal(key) + random.normal(key)) * y


def promoted(x):
    return lax.scan(lambda total, y: (total + y, None), 0, x)[0]


class Moved(NamedTuple):
    """A move of an array, as the compiler's report would have it."""

    kind: str = "all-gather"
    replicates: bool = False
    value: str = "xs[1]"
    file: str = "train.py"
    line: int = 7
    column: int = 4
    function: str = "step"
    operation: str = "dot_general"
    axes_text: str = "data"
    bytes_text: str = "1.2 MB"


def finds(monkeypatch, *moves):
    calls = []
    find = lambda jaxpr, fun, arrays, traced: calls.append((len(arrays), traced)) or moves
    monkeypatch.setattr(array_moves, "call", find)
    return calls


def test_involuntary_gathers(monkeypatch):
    moves = Moved(), Moved(replicates=True, value="the result of sin", line=0), Moved("all-to-all")
    calls = finds(monkeypatch, *moves)
    fun = lambda params, x, mode: x
    report = check(fun)({"w": np.ones(2, np.float32)}, np.ones(3, np.float32), "train")
    assert {(f.code, f.line, f.function) for f in report} == {
        ("RC801", 7, "step"),
        ("RC802", fun.__code__.co_firstlineno, fun.__qualname__),
    }
    messages = {f.code: f.message for f in report}
    assert messages["RC801"] == (
        "dot_general needs x gathered over data: each device sends 1.2 MB a step"
    )
    assert messages["RC802"].startswith("dot_general needs the result of sin whole on every device")
    assert calls == [(2, None)]


def test_a_jitted_function_is_not_traced_again_for_its_gathers(monkeypatch):
    calls = finds(monkeypatch)
    traces = count()  # check restores other objects than C iterators
    check(jit(lambda x: x if next(traces) else x))(np.ones(3, np.float32))
    assert next(traces) == 1
    assert calls[0][1].fun_name


def test_gathers_are_not_searched_unless_their_rules_are_selected(monkeypatch):
    calls = finds(monkeypatch, Moved())
    assert not check(lambda x: x, ignore="RC8")(np.ones(3, np.float32))
    assert not check(lambda x: x, select="RC5")(np.ones(3, np.float32))
    assert calls == []


def test_an_exception_of_the_compiler_is_a_finding(monkeypatch):
    def find(jaxpr, fun, arrays, traced):
        raise ValueError("x is committed elsewhere")

    monkeypatch.setattr(array_moves, "call", find)
    report = check(lambda x: x)(np.ones(3, np.float32))
    assert [f.message for f in report] == ["ValueError: x is committed elsewhere"]
    assert isinstance(report.exception, ValueError)


def test_a_report_is_a_sequence_and_true_if_it_has_findings():
    report = check(everything)(KEY, VECTOR)
    assert [f.code for f in report] == ["RC501", "RC101"]
    assert report
    assert report[0].line == everything.__code__.co_firstlineno + 1
    assert not check(rnp.sum)(VECTOR)


def test_text_is_one_line_a_finding(monkeypatch):
    monkeypatch.chdir(Path(__file__).parent)
    line = everything.__code__.co_firstlineno + 1
    text = str(check(everything)(KEY, VECTOR))
    first, second, last = text.splitlines()
    assert first.startswith(f"test_report.py:{line}: RC501 index 10 is out of bounds")
    assert second.startswith(f"test_report.py:{line + 1}: RC101 normal uses the key key, which")
    assert last == "2 errors"


def test_json_holds_all_fields():
    data = json.loads(check(everything)(KEY, VECTOR).to_json())
    assert data["version"] == 1
    assert [f["code"] for f in data["findings"]] == ["RC501", "RC101"]
    assert data["findings"][0]["file"] == __file__
    assert set(data["findings"][0]) == set(ricci_check.Finding.__dataclass_fields__)


def test_raise_if_any():
    report = check(promoted)(VECTOR)
    report.raise_if_any("warning")
    with pytest.raises(CheckError, match="RC302") as caught:
        report.raise_if_any()
    assert caught.value.report is report
    with pytest.raises(ValueError, match="severity must be one of"):
        report.raise_if_any("bad")


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ({}, ["RC501", "RC101"]),
        ({"select": "RC1"}, ["RC101"]),
        ({"select": ["RC101", "index-out-of-bounds"], "ignore": ["RC5"]}, ["RC101"]),
        ({"ignore": ["RC1", "RC5"]}, []),
    ],
)
def test_rules_are_chosen(options, codes):
    assert [f.code for f in check(everything, **options)(KEY, VECTOR)] == codes


@pytest.mark.parametrize("option", ["select", "ignore"])
def test_unknown_rules_are_refused(option):
    with pytest.raises(ValueError, match="does not match a rule"):
        check(everything, **{option: ["RC999"]})


def test_every_rule_has_a_unique_code_and_advice():
    assert all(code == rule.code and rule.summary and rule.advice for code, rule in RULES.items())
    assert len({rule.name for rule in RULES.values()}) == len(RULES)


def test_check_runs_nothing_and_keeps_no_references():
    traces = count()

    @jit
    def fun(x):
        next(traces)
        assert type(x).__name__ == "StagedTracer"
        return x + 1

    assert not check(fun)(VECTOR)
    fun(np.ones(5, np.float32))
    fun(np.ones(5, np.float32))
    assert next(traces) == 2


class Model:
    """A user's object that changes when it is called."""

    def __init__(self):
        self.calls = 0
        self.seen = []

    def __call__(self, x):
        self.calls += 1
        self.seen.append(x)
        return x * 2


@pytest.mark.parametrize("error", [None, ZeroDivisionError])
def test_check_restores_mutated_objects(error):
    model = Model()

    def step(x):
        y = model(x)
        if error is not None:
            raise error
        return y

    for fun in (step, jit(step)):
        assert len(check(fun)(VECTOR)) == (error is not None)
        assert (model.calls, model.seen) == (0, [])


class Compiled:
    """A library's compiled function, whose ``trace`` returns an object that is not Ricci's."""

    def __init__(self, fun):
        self.fun = jit(fun)

    def __call__(self, *args):
        return self.fun(*args)

    def trace(self, *args):
        return object()


def test_objects_with_lower_and_trace_methods_are_called_as_functions():
    assert not check(Compiled(lambda x: x + 1))(VECTOR)
    assert [f.code for f in check(Compiled(lambda x: x[10]))(VECTOR)] == ["RC501"]


def test_arguments_that_are_not_arrays_are_passed_unchanged():
    fun = lambda mode, x, axis=None: x.sum(axis) if mode == "sum" else x
    assert not check(fun)("sum", VECTOR)
    assert not check(partial(fun, "sum"))(VECTOR)
    assert not check(jit(lambda n, x: x * n, static_argnums=0))(3, VECTOR)


def test_only_functions_are_checked():
    with pytest.raises(TypeError, match="check expects a function"):
        check(3)


def test_results_may_hold_the_leaves_of_a_model_that_are_not_arrays():
    def update(model, x):
        return {**model, "w": model["w"] + x}

    assert not check(update)({"w": np.ones(3, np.float32), "activation": abs}, 1.0).findings

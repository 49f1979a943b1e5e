"""Contracts: the file, the comparison, and the messages of failures."""

import json
import warnings

import numpy as np
import pytest

from ricci_ir import get_aval
from ricci_lax import add, mul, sin
from ricci_testing import CompileContractError, CompileContractWarning
from ricci_testing import compile_contract as contract
from ricci_testing.pytest_plugin import compile_contract as compile_contract
from ricci_xla import jit

THREE, FOUR = np.ones(3, np.float32), np.ones(4, np.float32)


@pytest.fixture(autouse=True)
def neither_updating_nor_on_a_build_server(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("RICCI_UPDATE_CONTRACTS", raising=False)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "contracts" / "step.json"


def step(x, rate):
    return mul(x, rate)


def calls(*arguments, fun=step, **options):
    """A function that calls a new jitted one with each of some arguments."""

    def run():
        compiled = jit(fun, **options)
        for args in arguments:
            compiled(*args)

    return run


def held(file, run, **options):
    with contract(file, **options):
        run()


def test_the_first_run_writes(file):
    held(file, calls((THREE, 0.5), (FOUR, 0.5), (THREE, 0.5)))
    (entry,) = json.loads(file.read_text())["functions"].items()
    name, signatures = entry
    assert name == f"{__name__}.step"
    assert signatures == [
        {
            "arguments": {"rate": "float32[] (weakly typed)", "x": f"float32[{n}]"},
            "equations": 1,
            "static": {},
            "times": 1,
        }
        for n in (3, 4)
    ]


def test_the_same_compilations_pass_in_any_order(file):
    held(file, calls((THREE, 0.5), (FOUR, 0.5)))
    written = file.read_text()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        held(file, calls((FOUR, 0.5), (THREE, 0.5)))
    assert file.read_text() == written


def test_earlier_compilations_do_not_count(file):
    compiled = jit(step)
    run = lambda: compiled(THREE, 0.5)
    run()
    held(file, run)
    held(file, run)
    assert len(json.loads(file.read_text())["functions"]) == 1


@pytest.mark.parametrize(
    ("now", "message"),
    [
        (calls((THREE, 0.5), (FOUR, 0.5)), "argument x was float32[3] and is float32[4]"),
        (
            calls((THREE, 0.5), (THREE, np.float32(1))),
            "argument rate was float32[] (weakly typed) and is float32[]",
        ),
        (calls((np.int32([1]), 1)), "rate was float32[] (weakly typed) and is int32[] (weakly"),
        (
            calls((THREE, 0.5), static_argnums=1),
            "argument rate was float32[] (weakly typed) and is not given; static argument rate is",
        ),
        (
            calls(({"a": THREE},), fun=lambda p: p["a"]),
            "for (p['a']: float32[3]); no compilation of it was recorded",
        ),
        (
            lambda: [calls((THREE, 0.5), fun=lambda x, rate: step(x, rate))() for _ in range(2)],
            "no compilation of it was recorded",
        ),
    ],
)
def test_new_signatures_fail(file, now, message):
    held(file, calls((THREE, 0.5)))
    with pytest.raises(CompileContractError) as caught:
        held(file, now)
    assert message in str(caught.value)
    assert "RICCI_UPDATE_CONTRACTS=1" in str(caught.value)


def define_repeatedly(times):
    def run():
        for _ in range(times):
            jit(lambda x: add(x, x))(THREE)

    return run


def test_compiling_more_often_fails(file):
    held(file, define_repeatedly(1))
    with pytest.raises(CompileContractError, match="is compiled 3 times, once was recorded"):
        held(file, define_repeatedly(3))


def growing(count):
    def grow(x):
        for _ in range(count):
            x = sin(x)
        return x

    return calls((THREE,), fun=grow)


@pytest.mark.parametrize(
    ("count", "options", "error"),
    [(21, {}, None), (23, {}, CompileContractError), (23, {"tolerance": 0.2}, None)],
)
def test_equations_may_grow_by_the_tolerance(file, count, options, error):
    held(file, growing(20))
    if error is None:
        held(file, growing(count), **options)
    else:
        with pytest.raises(error, match="has 23 equations, 20 were recorded"):
            held(file, growing(count), **options)


@pytest.mark.parametrize(
    ("before", "now", "message"),
    [
        (calls((THREE, 0.5), (FOUR, 0.5)), calls((THREE, 0.5)), "is not compiled for"),
        (growing(20), growing(10), "has 10 equations, 20 were recorded"),
        (calls((THREE, 0.5)), lambda: None, "step is not compiled any more"),
        (define_repeatedly(3), define_repeatedly(1), "compiled once, 3 times was recorded"),
    ],
)
def test_shrinking_warns_and_passes(file, before, now, message):
    held(file, before)
    with pytest.warns(CompileContractWarning, match=message):
        held(file, now)


@pytest.mark.parametrize("how", ["argument", "variable"])
def test_updating_rewrites_the_contract(file, how, monkeypatch):
    held(file, calls((THREE, 0.5)))
    if how == "variable":
        monkeypatch.setenv("RICCI_UPDATE_CONTRACTS", "1")
    held(file, calls((FOUR, 0.5)), update=True if how == "argument" else None)
    monkeypatch.delenv("RICCI_UPDATE_CONTRACTS", raising=False)
    held(file, calls((FOUR, 0.5)))


def test_a_missing_contract_fails_on_a_build_server(file, monkeypatch):
    monkeypatch.setenv("CI", "1")
    with pytest.raises(CompileContractError, match="is missing, and is not written"):
        held(file, calls((THREE, 0.5)))
    assert not file.exists()


def test_an_exception_in_the_block_writes_nothing(file):
    def fail():
        calls((THREE, 0.5))()
        raise KeyError("the test's own")

    with pytest.raises(KeyError):
        held(file, fail)
    assert not file.exists()


def test_only_the_outermost_of_nested_functions_counts(file):
    inner = jit(step)
    held(file, calls((THREE,), fun=lambda x: inner(inner(x, 2.0), 3.0)))
    functions = json.loads(file.read_text())["functions"]
    assert [name.rpartition(".")[2] for name in functions] == ["<lambda>"]
    assert next(iter(functions.values()))[0]["equations"] == 3  # two calls and their equation


def test_the_fixture_names_the_file_by_the_test(compile_contract):
    made = compile_contract(tolerance=0.5)
    assert (
        made.file.name == "test_compile_contract.test_the_fixture_names_the_file_by_the_test.json"
    )
    assert made.file.parent.name == "contracts"
    assert (made.tolerance, made.update) == (0.5, False)


def test_weak_types_are_distinguished(file):
    held(file, calls((THREE, 0.5), (THREE, get_aval(0.5).dtype.type(0.5))))
    (signatures,) = json.loads(file.read_text())["functions"].values()
    assert len(signatures) == 2

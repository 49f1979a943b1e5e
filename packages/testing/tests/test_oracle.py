"""The oracle: results of evaluations, and recovery from crashes and timeouts."""

import ml_dtypes
import numpy as np
import pytest

from ricci_testing import (
    Oracle,
    OracleError,
    Request,
    assert_same,
    assert_same_jaxpr,
    compare,
    evaluate_with,
    find_interpreter,
)
from ricci_testing.pytest_plugin import oracle as oracle

NUMPY = {"np": np}


@pytest.mark.parametrize(
    ("source", "kind", "dtype", "weak_type", "value"),
    [
        ("jnp.arange(3)", "array", "int32", False, np.arange(3, dtype=np.int32)),
        ("jnp.asarray(2.0) * 2", "array", "float32", True, np.float32(4)),
        ("jnp.ones(2, bool)", "array", "bool", False, np.ones(2, bool)),
        ("jnp.ones(2, jnp.bfloat16)", "array", "bfloat16", False, np.ones(2, ml_dtypes.bfloat16)),
        ("jnp.ones(2, jnp.int4)", "array", "int4", False, np.ones(2, ml_dtypes.int4)),
        ("jnp.ones(2, jnp.float8_e5m2)", "array", "float8_e5m2", False, np.ones(2)),
        ("random.key(7)", "array", "key<fry>", False, np.array([0, 7], np.uint32)),
        ("np.float64(1.5)", "numpy", "float64", False, np.float64(1.5)),
        ("jax.device_count()", "python", "int", False, 8),
        ("None", "text", "NoneType", False, "None"),
        ("jax.typeof(1.0)", "text", "ShapedArray", False, "~float32[]"),
    ],
)
def test_value_keeps_its_type(oracle, source, kind, dtype, weak_type, value):
    leaf = oracle.run(source).leaves[0]
    assert (leaf.kind, leaf.dtype, leaf.weak_type) == (kind, dtype, weak_type)
    np.testing.assert_array_equal(leaf.value, value)


def test_statements_may_precede_the_expression(oracle):
    result = oracle.run("def f(a):\n    return a * 2\n\nf(x) + y", x=np.arange(3), y=1)
    np.testing.assert_array_equal(result.value, [1, 3, 5])
    assert result.leaves[0].dtype == "int32"


def test_inputs_may_be_trees(oracle):
    result = oracle.run("jax.tree.map(jnp.sum, tree)", tree={"b": np.ones(2), "a": (1, [2.0])})
    assert [leaf.path for leaf in result.leaves] == ["['a'](0)", "['a'](1)[0]", "['b']"]
    assert [float(leaf.value) for leaf in result.leaves] == [1.0, 2.0, 2.0]


def test_error_is_a_result(oracle):
    error = oracle.run("jnp.zeros(3) + jnp.zeros(4)").error
    assert error.name == "TypeError"
    assert error.bases[:2] == ("TypeError", "Exception")
    assert "(3,)" in error.message


def test_printing_does_not_disturb_the_pipe(oracle):
    assert oracle.run("print('noise')\n1").value == 1


def test_run_many_returns_results_in_order(oracle):
    results = oracle.run_many(Request("n * jnp.ones(())", {"n": n}) for n in range(20))
    assert [float(result.value) for result in results] == list(range(20))


def test_one_failed_request_does_not_affect_the_others(oracle):
    results = oracle.run_many([Request("1", {}), Request("1 / 0", {}), Request("3", {})])
    assert [result.error and result.error.name for result in results] == [
        None,
        "ZeroDivisionError",
        None,
    ]


def test_config_holds_for_one_evaluation(oracle):
    wide = oracle.run("jnp.ones(())", config={"jax_enable_x64": True})
    assert wide.leaves[0].dtype == "float64"
    assert oracle.run("jnp.ones(())").leaves[0].dtype == "float32"


def test_jaxpr_of_a_function(oracle):
    request = Request("lambda a, b: lax.mul(a, b)", {"a": 1.0, "b": 2.0}, finish="jaxpr")
    assert oracle.run_many([request])[0].value == (
        "{ lambda ; a:f32[] b:f32[]. let c:f32[] = mul a b in (c,) }"
    )


def test_text_without_a_result_is_refused(oracle):
    with pytest.raises(ValueError, match="must end in an expression"):
        oracle.run("x = 1")


def test_crash_is_reported_and_the_process_restarted(oracle):
    with Oracle() as own:
        with pytest.raises(OracleError, match="(?s)exit status 3.*last words"):
            own.run(
                "import os, sys\nsys.stderr.write('last words')\nsys.stderr.flush()\nos._exit(3)"
            )
        assert own.run("jnp.int32(5)").value == 5


def test_slow_request_times_out(oracle):
    with Oracle() as own:
        assert own.run("1").value == 1
        with pytest.raises(OracleError, match="took too long"):
            own.run("import time\ntime.sleep(60)\n1", timeout=0.2)
        assert own.run("2").value == 2


def test_missing_interpreter_raises(monkeypatch, tmp_path):
    monkeypatch.delenv("RICCI_ORACLE_PYTHON", raising=False)
    monkeypatch.chdir(tmp_path)
    assert not Oracle.available()
    with pytest.raises(OracleError, match="nox -s oracle"):
        Oracle().run("1")


def test_misnamed_interpreter_raises(monkeypatch, tmp_path):
    monkeypatch.setenv("RICCI_ORACLE_PYTHON", str(tmp_path / "python"))
    with pytest.raises(OracleError, match="RICCI_ORACLE_PYTHON"):
        find_interpreter()


def test_interpreter_is_found_in_parent_folders(monkeypatch, tmp_path):
    python = tmp_path / ".nox" / "oracle" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.delenv("RICCI_ORACLE_PYTHON", raising=False)
    monkeypatch.chdir(below)
    assert find_interpreter() == python


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        ("np.float32(1)", "np.float64(1)", "dtype differs"),
        ("np.ones(2)", "np.ones(3)", "shape differs"),
        ("1", "1.0", "dtype differs"),
        ("(1, 2)", "[1, 2]", "leaves differs"),
        ("()", "[]", "dtype differs"),
        ("{'a': (1, 2.0)}", "{'a': (1, 2.5)}", r"at result\['a'\]\(1\)"),
        ("np.arange(3)", "np.array([0, 9, 2])", r"1 of 3 values, the first at \(1,\)"),
        ("np.nan", "1.0", "differ"),
        ("np.array([1, np.inf])", "np.array([1, -np.inf])", "differ"),
        ("1 / 0", "1", "ZeroDivisionError"),
        ("1 / 0", "[][0]", "IndexError"),
        ("'a'", "'b'", "text differs"),
    ],
)
def test_difference_is_found(ours, theirs, message):
    with pytest.raises(AssertionError, match=message):
        compare(evaluate_with(NUMPY, ours, {}), evaluate_with(NUMPY, theirs, {}), source=ours)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("np.float32([1, 1e-9])", "np.float32([1 + 1e-6, 0])"),
        ("np.array([np.nan, np.inf])", "np.array([np.nan, np.inf])"),
        ("np.zeros((0, 3))", "np.zeros((0, 3))"),
        ("np.complex64(1 + 2j)", "np.complex64(1 + 2.000001j)"),
        ("1 / 0", "2 / 0"),
    ],
)
def test_equal_results_pass(ours, theirs):
    compare(evaluate_with(NUMPY, ours, {}), evaluate_with(NUMPY, theirs, {}))


def test_tolerance_can_be_given():
    one, other = evaluate_with({}, "1.0", {}), evaluate_with({}, "1.1", {})
    compare(one, other, rtol=0.2)
    with pytest.raises(AssertionError, match="rtol"):
        compare(one, other, rtol={"float64": 0.01})


def test_assert_same_evaluates_on_both_sides(oracle):
    assert_same("np.arange(n) * 2", namespace=NUMPY, oracle=oracle, n=3)
    with pytest.raises(AssertionError, match="for: __name__"):
        assert_same("__name__ + ''", namespace={"__name__": "here"}, oracle=oracle)


def test_assert_same_jaxpr_shows_the_difference(oracle):
    class Printer:
        @staticmethod
        def make_jaxpr(function):
            return lambda *arguments: "{ lambda ; a:f32[]. let b:f32[] = cos a in (b,) }"

    assert_same_jaxpr("lambda x: jax.lax.cos(x)", namespace={"jax": Printer}, oracle=oracle, x=1.0)
    with pytest.raises(AssertionError, match="-.*sin"):
        assert_same_jaxpr(
            "lambda x: jax.lax.sin(x)", namespace={"jax": Printer}, oracle=oracle, x=1.0
        )

"""The calls of tools that take a function: ``tool(f)(x)``, ``tool(f, x)``, and rows of results."""

import pytest

import ricci
import ricci.numpy as jnp
from ricci import parallel

X = jnp.array([1.0, -2.0])


def logarithms(x):
    return jnp.log(x) * x[7], jnp.sin(x)


TOOLS = [ricci.find_nan, ricci.check, ricci.memory_plan, ricci.precision]
TOOLS += [ricci.parallel.plan, ricci.parallel.communication]


@pytest.mark.parametrize("tool", TOOLS)
def test_arguments_come_at_once_or_later(tool):
    now, later = tool(logarithms, X), tool(logarithms)(X)
    by_name = tool(logarithms, x=X)
    assert str(now) == str(later) == str(by_name) != ""
    assert now.rows == later.rows
    assert bool(now.rows) == (tool is not ricci.parallel.communication)
    assert all(isinstance(key, str) for row in now.rows for key in row)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_without_arguments_is_named_by_its_function(tool):
    assert tool(logarithms).__name__ == f"{tool.__name__}(logarithms)"


@pytest.mark.parametrize("tool", TOOLS)
def test_a_value_in_place_of_the_function_is_refused(tool):
    with pytest.raises(TypeError, match=f"{tool.__name__} expects a function, got 3 of type int"):
        tool(3)


def test_arguments_beside_a_rolled_function_are_refused_with_the_remedy():
    for call in (lambda: ricci.roll(logarithms, X), lambda: ricci.roll(logarithms, x=X)):
        with pytest.raises(TypeError, match=r"roll\(logarithms\)\(x\), not roll\(logarithms, x\)"):
            call()


def test_functions_without_arguments_are_called_later():
    assert ricci.find_nan(lambda: jnp.log(-1.0))().operation == "log"
    assert ricci.memory_plan(lambda: jnp.ones(3))().results == 12


def test_options_stand_beside_the_function():
    infinite = ricci.find_nan(lambda x: 1.0 / x, inf=True)
    assert infinite(jnp.zeros(())).kind == "inf"
    assert len(ricci.check(logarithms, ignore=["RC5"])(X)) < len(ricci.check(logarithms)(X))


@pytest.mark.parametrize("tool", TOOLS[:-1])
def test_notebooks_show_a_table(tool):
    html = tool(logarithms)(X)._repr_html_()
    assert "<table>" in html and "test_tool_calls.py" in html


def layers(x):
    for _ in range(8):
        x = jnp.sin(jnp.eye(2) @ x) * jnp.cos(x) + jnp.tanh(x) * jnp.exp(-x) - jnp.sqrt(x + 9.0)
    return x


def test_rewrites_take_arguments_at_once_too():
    assert ricci.bucketed(jnp.sum, jnp.arange(3.0), sizes=[4]) == 3.0
    assert ricci.fit_memory(lambda x, k: x.sum() * k, "1GB", X, k=2.0) == -2.0


def test_buckets_are_rows():
    total = ricci.bucketed(jnp.sum, sizes=[4, 8])
    for n in (3, 4, 6):
        total(jnp.ones(n))
    assert total.rows == [
        {"sizes": {"n": 4}, "calls": 2, "padding": 0.125},
        {"sizes": {"n": 8}, "calls": 1, "padding": 0.25},
    ]
    assert "<table>" in total._repr_html_()


def test_collectives_are_rows():
    mesh = ricci.make_mesh((len(ricci.devices()),), ("data",))
    x = ricci.device_put(jnp.ones(64), ricci.NamedSharding(mesh, ricci.P("data")))
    report = parallel.communication(jnp.sum)(x)
    kinds = ["all-reduce"] if mesh.size > 1 else []
    assert [row["kind"] for row in report.rows] == kinds == [each.kind for each in report]
    assert mesh.size == 1 or "<td>all-reduce</td>" in report._repr_html_()


def test_reports_of_rewritten_functions_are_tables_too():
    fit = ricci.fit_memory(ricci.grad(lambda x: layers(x).sum()), "1GB").plan(X)
    (row,) = fit.rows
    assert row["limit"] == 10**9 and row["segments"] == row["pieces"] == row["compiled"] == 1
    report = ricci.roll(layers).report(X)
    assert sum(row["count"] for row in report.rows) >= 7
    for each in (fit, report):
        assert "<table>" in each._repr_html_() and str(each) in each._repr_html_()


def test_calls_of_a_warm_start_are_rows(tmp_path):
    def halve(x):
        return x / 2

    with ricci.warm_start(tmp_path / "bundle") as start:
        ricci.jit(halve)(X)
    (row,) = start.rows
    assert row["outcome"] in ("kept", "not kept") and row["function"].endswith("halve")
    assert f"<td>{row['outcome']}</td>" in start._repr_html_()

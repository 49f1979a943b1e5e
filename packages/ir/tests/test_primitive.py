"""Primitives, the tables of their rules, and the call that defines one with all of them."""

import numpy as np
import pytest

import ricci_ir as ir
from ricci_ir.traces import _primitive

X = ir.ShapedArray((3,), np.float32)


@pytest.fixture
def tables(monkeypatch):
    """No rule tables but two of our own, and an empty registry."""
    monkeypatch.setattr(_primitive, "_required", {})
    monkeypatch.setattr(_primitive, "_optional", {})
    monkeypatch.setattr(_primitive, "primitives", _primitive.Primitives())
    return ir.rule_table("needed"), ir.rule_table("extra", required=False)


def identity(aval, **params):
    return aval


def test_define_puts_each_rule_in_its_table(tables):
    needed, extra = tables
    p = ir.define("p", abstract_eval=identity, needed="one", extra="two")
    q = ir.define("q", abstract_eval=identity, needed="three")
    assert (needed[p], needed[q], extra[p], q in extra) == ("one", "three", "two", False)
    assert _primitive.primitives == {"p": p, "q": q}


@pytest.mark.parametrize(
    ("rules", "message"),
    [({}, "'p' lacks rules: needed"), ({"needed": 1, "neded": 2}, "no package declares .*'neded'")],
)
def test_missing_and_unknown_rules_are_errors(tables, rules, message):
    with pytest.raises(TypeError, match=message):
        ir.define("p", abstract_eval=identity, **rules)
    assert "p" not in _primitive.primitives


def test_unsupported_raises_with_the_reason(tables):
    needed, _ = tables
    p = ir.define("p", abstract_eval=identity, needed=ir.unsupported("the sum may diverge"))
    with pytest.raises(NotImplementedError, match="needed of p: the sum may diverge"):
        needed[p](1, axis=0)


def test_derived_rules_are_made_from_the_primitive(tables):
    needed, _ = tables
    p = ir.define("p", abstract_eval=identity, needed=ir.derived(lambda primitive: [primitive]))
    assert needed[p] == [p]


def test_missing_optional_rule_error_names_the_keyword(tables):
    _, extra = tables
    with pytest.raises(NotImplementedError, match="'p' has no extra rule: pass extra="):
        extra[ir.Primitive("p")]


def test_missing_abstract_eval_raises_with_the_primitives_name():
    with pytest.raises(NotImplementedError, match="'p' has no rule for abstract evaluation"):
        ir.Primitive("p").result_avals((X,), {})


@pytest.mark.parametrize(
    ("memo", "params", "evaluations"),
    [(True, {"n": 1}, 1), (True, {"n": [1]}, 2), (False, {"n": 1}, 2)],
)
def test_abstract_eval_runs_once_for_each_hashable_combination(memo, params, evaluations):
    seen = []

    def abstract_eval(aval, *, n):
        seen.append(n)
        return aval

    p = ir.Primitive("p", abstract_eval, memo=memo)
    assert [p.result_avals((X,), params) for _ in range(2)] == [X, X]
    assert len(seen) == evaluations


def test_failed_abstract_evals_are_not_cached():
    fail = [True]

    def abstract_eval(aval):
        if fail:
            raise TypeError("no")
        return aval

    p = ir.Primitive("p", abstract_eval)
    with pytest.raises(TypeError, match="no"):
        p.result_avals((X,), {})
    fail.clear()
    assert p.result_avals((X,), {}) is X


def _module(name, file, text):
    """The names of a module of this text, as if it had been imported from a file."""
    names = {"__name__": name, "ir": ir, "identity": identity}
    exec(compile(text, file, "exec"), names)
    return names


def test_a_name_is_defined_once(tables):
    block = "\np = ir.define('p', abstract_eval=identity, needed=1)"
    first = _module("first", "first.py", block)["p"]
    with pytest.raises(ValueError, match=r"'p' is defined already, at first.py:2; .* second.py:2"):
        _module("second", "second.py", block)
    with pytest.raises(ValueError, match=r"at third.py:2; .* at third.py:3"):
        _module("third", "third.py", "".join([block.replace("'p'", "'q'")] * 2))
    assert _primitive.primitives["p"] is first


def test_repeated_primitive_blocks_replace_their_rules(tables):
    block = "p = ir.define('p', abstract_eval=identity, needed=1)"
    _module("first", "first.py", block)
    again = _module("first", "first.py", "\n# edited, and reloaded\n" + block)["p"]
    assert _primitive.primitives["p"] is again
    assert [ir.define("r", abstract_eval=identity, needed=i) for i in range(2)][1] is (
        _primitive.primitives["r"]
    )


def test_a_refused_primitive_leaves_no_rules(tables):
    needed, extra = tables
    with pytest.raises(TypeError, match="neded"):
        ir.define("p", abstract_eval=identity, needed=1, neded=2)
    assert not needed

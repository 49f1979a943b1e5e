"""The comparison of public names and signatures, on small tables and on the real one."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import surface  # noqa: E402
from surface import Name, Reason, difference, examine, lines, parameters  # noqa: E402

NAMES = [
    Name("jax.lax", "add", "function", "(x, y)"),
    Name("jax.lax", "sub", "function", "(x, z)"),
    Name("jax.lax", "imaginary", "function", "(x)"),
    Name("jax.nowhere", "thing", "class", "()"),
]


def report(*reasons: Reason) -> tuple[list[surface.Report], set[Reason]]:
    used: set[Reason] = set()
    return list(examine(NAMES, list(reasons), used)), used


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("()", ([], True)),
        ("(x, /)", (["x", "/"], True)),
        ("(*args: 'Any', **kw)", (["*args", "**kw"], True)),
        ("(f: 'Callable[[int], str]' = <f at 0>, *, g=(1, 2))", (["f", "*", "g"], True)),
        ("(x, y: 'dict[str, ...", (["x", "y"], False)),
        ("(x, lon...", (["x"], False)),
        ("(x, y) -> 'tuple[...", (["x", "y"], True)),
    ],
)
def test_a_printed_signature_is_read(signature, expected):
    assert parameters(signature) == expected


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("(x, y)", lambda x, y: None),
        ("(x, y, /)", lambda x, y, /: None),
        ("(x, *rest, axis)", lambda x, *rest, axis: None),
        ("(x, *, axis: 'in...", lambda x, *, axis, more=1: None),
    ],
)
def test_equal_parameters_differ_in_nothing(theirs, ours):
    assert difference(theirs, ours) is None


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("(x, y)", lambda x: None),
        ("(x, y)", lambda y, x: None),
        ("(x)", lambda x, more=1: None),
        ("(x, /)", lambda x: None),
        ("(x, *, axis)", lambda x, axis: None),
        ("(x, **options)", lambda x, options: None),
        ("(x, *, axis: 'in...", lambda x, *, mode: None),
    ],
)
def test_names_order_and_kinds_are_compared(theirs, ours):
    assert difference(theirs, ours) is not None


def test_names_without_a_reason_are_counted_and_printed():
    (lax, nowhere), _ = report()
    assert (lax.present, lax.unexplained, nowhere.unexplained) == (2, 2, 1)
    text = "\n".join(lines(lax))
    assert "MISSING WITHOUT A REASON: imaginary" in text
    assert "sub: (x, y), not (x, z): DIFFERENT WITHOUT A REASON" in text


def test_reasons_cover_only_the_names_they_list():
    missing = Reason("jax.lax", ("imag*",), "missing", "later")
    signature = Reason("jax.lax", ("sub",), "signature", "on purpose")
    namespace = Reason("jax.no*", ("*",), "namespace", "nothing of it")
    idle = Reason("jax.lax", ("add",), "missing", "it is there")
    reports, used = report(missing, signature, namespace, idle)
    assert [found.unexplained for found in reports] == [0, 0]
    assert used == {missing, signature, namespace}


def test_a_reason_for_a_whole_namespace_excuses_no_single_name():
    (lax, _), _ = report(Reason("jax.*", ("*",), "namespace", "nothing of it"))
    assert lax.unexplained == 2


@pytest.mark.parametrize(("asked", "status"), [("dtypes", 0), ("tree_util", 0), ("no.such", 2)])
def test_the_exit_status(asked, status, capsys):
    assert surface.main([asked]) == status
    assert capsys.readouterr().out


def test_the_tables_are_well_formed():
    assert len(surface.read_names()) > 2000
    for reason in surface.read_reasons():
        assert reason.what in ("namespace", "missing", "signature")
        assert reason.names and reason.text

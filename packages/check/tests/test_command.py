"""``python -m ricci_check``: its output, and its exit status."""

import json

import pytest

from ricci_check.__main__ import main

MODULE = """\
import ricci_numpy


def bad(x):
    return x[10]


class Group:
    def good(x, y):
        return x + y
"""


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    (tmp_path / "checked_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["checked_module:bad", "float32[5]"], 1, "checked_module.py:5: RC501 index 10 is out"),
        (["checked_module:bad", "float32[20]"], 0, "nothing found"),
        (["checked_module:bad", "float32[5]", "--ignore", "RC5"], 0, "nothing found"),
        (["checked_module:bad", "float32[5]", "--select", "RC1"], 0, "nothing found"),
        (["checked_module:Group.good", "float32[2, 3]", "float32[]"], 0, "nothing found"),
        (["checked_module:Group.good", "float64[2]", "float32[]"], 1, "RC201"),
        (["checked_module:Group.good", "float64[2]", "float32[]", "--fail-on=error"], 0, "RC201"),
    ],
)
def test_findings_are_printed(arguments, code, text, capsys):
    assert main(arguments) == code
    assert text in capsys.readouterr().out


def test_json(capsys):
    main(["checked_module:bad", "float32[5]", "--json"])
    assert [f["code"] for f in json.loads(capsys.readouterr().out)["findings"]] == ["RC501"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["checked_module"], "does not have the form module:function"),
        (["checked_module:none"], "has no attribute 'none'"),
        (["no_such_module:f"], "No module named"),
        (["checked_module:bad", "five"], "is not a type such as"),
        (["checked_module:bad", "floaty[3]"], "floaty"),
    ],
)
def test_the_command_rejects_invalid_arguments(arguments, text, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert text in capsys.readouterr().err

"""Pages that explain errors: each code in a message has one, and the command prints it."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ricci
from ricci_ir import _messages, error_link, explain

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(ROOT.glob("packages/*/src/**/*.py"))
# Pages of errors that jaxlib raises itself, so that no message of ours leads there.
OF_JAXLIB = {"static-arguments", "runtime"}
# Bases of other classes, which are not raised.
BASES = {"JAXTypeError", "JAXIndexError"}


def codes() -> set[str]:
    """The codes that the packages' sources name."""
    found: set[str] = set()
    for file in SOURCES:
        text = file.read_text(encoding="utf-8")
        found.update(re.findall(r'page: ClassVar\[str\] = "([\w-]+)"', text))
        if "explained(" in text:
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("explained"):
                    found.update(
                        x.value
                        for x in node.args[1:]
                        if isinstance(x, ast.Constant) and " " not in x.value
                    )
    return found


def test_each_code_has_a_page_and_each_page_a_code():
    assert codes() | OF_JAXLIB == set(explain.error_pages())


def test_the_index_lists_every_page():
    index = (ROOT / "docs" / "errors" / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[([\w-]+)\]\(\1\.md\)", index, re.MULTILINE)
    hidden = index.rpartition(":hidden:")[2].split()[:-1]
    assert sorted(listed) == sorted(explain.error_pages())
    assert hidden == [*listed, "measured"]


@pytest.mark.parametrize("name", sorted(set(ricci.errors.__all__) - BASES - {"JaxRuntimeError"}))
def test_each_public_class_leads_to_a_page(name):
    error = getattr(ricci.errors, name)
    assert error.page in explain.error_pages()
    made = error.__new__(error)
    assert str(made).endswith(error_link(error.page))


def test_a_link_is_an_address_once_there_is_a_site(monkeypatch):
    monkeypatch.setattr(_messages, "SITE", "https://example.org/errors/")
    assert error_link("nan") == "See https://example.org/errors/nan.html"


def test_error_link_names_the_installed_module_without_ricci(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert error_link("nan") == "See: python -m ricci_ir nan"


@pytest.mark.parametrize("module", ["ricci.errors", "ricci_ir"])
def test_the_command_prints_a_page(module):
    command = [sys.executable, "-m", module]
    page = subprocess.run([*command, "nan"], capture_output=True, text=True, check=True)
    assert page.stdout.startswith("# A NaN or an infinity") and not page.stderr


def test_the_command_lists_pages_and_refuses_others(capsys):
    assert explain.main([]) == 0
    assert "tracer-bool" in capsys.readouterr().out
    assert explain.main(["tracer"]) == 1
    assert "unknown page 'tracer'" in capsys.readouterr().err

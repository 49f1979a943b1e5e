"""Names of files and cells of notebooks in messages."""

import sys
from types import SimpleNamespace

import pytest

from ricci_ir import Source, shown_file

CELL = "/tmp/ipykernel_1/4192589556.py"


@pytest.fixture
def notebook(monkeypatch):
    """A running IPython that has compiled one cell, its fourteenth."""

    def format_code_name(name):
        return ("Cell", "In[14]") if name == CELL else None

    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=format_code_name))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


@pytest.mark.usefixtures("notebook")
def test_cell_of_a_notebook_is_named_by_its_number():
    code = compile("\nx = 1", CELL, "exec")
    assert shown_file(CELL) == shown_file(CELL, short=True) == "In[14]"
    assert str(Source(code, -1)).startswith("In[14]:1:0 ")


@pytest.mark.usefixtures("notebook")
def test_module_that_a_notebook_imports_keeps_its_path():
    assert shown_file("/home/me/model.py") == "/home/me/model.py"


def test_without_ipython_or_outside_of_it_files_keep_their_paths(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert shown_file(CELL) == CELL
    assert shown_file(CELL, short=True) == "4192589556.py"
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert shown_file(CELL) == CELL

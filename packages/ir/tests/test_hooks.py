import importlib
from collections.abc import Callable

import pytest

import ricci_ir as ir


def _halves(default: Callable[[float], float] | None = None) -> ir.Hook[Callable[[float], float]]:
    return ir.Hook("halves", provided_by="numbers", default=default)


def test_a_hook_calls_the_provided_function():
    halve = _halves()

    @halve.provide
    def divide(x):
        return x / 2

    assert (halve.call(3.0), divide(3.0), halve.provider) == (1.5, 1.5, __name__)
    assert halve.call is divide


def test_a_hook_without_a_function_says_what_to_import():
    halve = _halves()
    assert halve.provider is None
    with pytest.raises(
        NotImplementedError, match="^no package that provides halves is imported: import numbers$"
    ):
        halve.call(3.0)


def test_a_hook_calls_its_default_until_a_function_is_provided():
    halve = _halves(default=lambda x: x)
    assert (halve.call(3.0), halve.provider) == (3.0, None)
    halve.provide(lambda x: x / 2)
    assert halve.call(3.0) == 1.5


def test_a_module_provides_its_function_again_when_it_is_reloaded(tmp_path, monkeypatch):
    halve = _halves()
    monkeypatch.setattr(ir, "halve", halve, raising=False)
    module = tmp_path / "provider_of_halves.py"
    module.write_text("import ricci_ir\nricci_ir.halve.provide(lambda x: x / 2)\n")
    monkeypatch.syspath_prepend(tmp_path)
    provider = importlib.import_module("provider_of_halves")
    first = halve.call
    importlib.reload(provider)
    assert halve.call is not first
    assert (halve.call(3.0), halve.provider) == (1.5, "provider_of_halves")


def test_a_second_module_cannot_provide_a_function():
    halve = _halves()
    exec("halve.provide(abs)", {"halve": halve, "__name__": "first_module"})
    with pytest.raises(RuntimeError, match="provides halves, which first_module provides already"):
        halve.provide(abs)
    assert halve.call is abs


def test_a_late_provider_is_imported_at_the_first_call(tmp_path, monkeypatch):
    halve = _halves()
    monkeypatch.setattr(ir, "late_halve", halve, raising=False)
    (tmp_path / "late_halves.py").write_text(
        "import ricci_ir\nricci_ir.late_halve.provide(lambda x: x / 2)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert not halve.is_provided
    halve.provide_late("late_halves")
    assert (halve.is_provided, halve.provider) == (True, None)
    assert (halve.call(3.0), halve.provider) == (1.5, "late_halves")
    assert halve.loaded() is halve.call

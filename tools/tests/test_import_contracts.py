import sys
from pathlib import Path

import grimp
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from import_contracts import PrivateModulesContract


def check(*imports):
    graph = grimp.ImportGraph()
    for module in ("a", "a.public", "a._private", "a.room", "a.room._inner", "b", "b.user"):
        graph.add_module(module)
    for importer, imported in imports:
        graph.add_import(importer=importer, imported=imported)
    options = {"packages": ["a", "b"]}
    contract = PrivateModulesContract("private", session_options={}, contract_options=options)
    return contract.check(graph, verbose=False)


@pytest.mark.parametrize("imported", ["a._private", "a.room._inner"])
def test_a_private_module_of_another_package_breaks_it(imported):
    result = check(("b.user", imported), ("b.user", "a.public"))
    assert not result.kept
    assert result.metadata == {"crossing": [("b.user", imported)]}


def test_public_modules_and_a_packages_own_are_free():
    assert check(("b.user", "a.public"), ("b.user", "a.room"), ("a", "a.room._inner")).kept

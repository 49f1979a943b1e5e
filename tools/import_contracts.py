"""Contracts of import-linter that it does not bring itself; `pyproject.toml` names them."""

import re

import grimp
from importlinter import Contract, ContractCheck, fields, output

PRIVATE = re.compile(r"\._[a-z]")


class PrivateModulesContract(Contract):
    """No package imports a module of another whose name begins with an underscore.

    A package's neighbours use its public surface: the names of the package, and of its public
    modules such as ``ricci_numpy.authoring``.
    """

    type_name = "private_modules"

    packages = fields.ListField(subfield=fields.StringField())

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        """Find the imports that reach into another package."""
        packages = list(map(str, self.packages))  # pyright: ignore[reportArgumentType]
        modules = {module for package in packages for module in graph.find_descendants(package)}
        crossing = sorted(
            (importer, imported)
            for imported in modules
            if PRIVATE.search(imported)
            for importer in graph.find_modules_that_directly_import(imported)
            if importer.partition(".")[0] != imported.partition(".")[0]
        )
        return ContractCheck(kept=not crossing, metadata={"crossing": crossing})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each import that breaks the contract."""
        for importer, imported in check.metadata["crossing"]:
            output.print_error(f"{importer} imports {imported}")

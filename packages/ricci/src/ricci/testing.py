"""Tools for tests: checks of derivatives, and contracts of what is compiled."""

from ricci_ir import export_names as _export_names
from ricci_testing import CompileContractError as CompileContractError
from ricci_testing import CompileContractWarning as CompileContractWarning
from ricci_testing import check_grads as check_grads
from ricci_testing import compile_contract as compile_contract

_export_names(globals())

"""Tools for tests: checks of derivatives, and contracts of executables."""

from ricci_ir import guard_public as _guard_public
from ricci_testing import CompileContractError as CompileContractError
from ricci_testing import CompileContractWarning as CompileContractWarning
from ricci_testing import check_grads as check_grads
from ricci_testing import compile_contract as compile_contract

_guard_public(globals())

"""The functions and primitives that packages below call, each with the module that has it.

Modules of this package are imported at their first use. Packages below use some of them too,
without naming them: by a hook, or a primitive by its name.
"""

import ricci_ir as ir

from ._index import MODULES
from .elementwise import _arithmetic as _arithmetic
from .elementwise._cpu_formulas import formula_of
from .linalg import _index as linalg
from .refs import _index as refs
from .rules import _checkify as _checkify
from .rules import _saving as _saving
from .staged_calls import _staged_call as _staged_call
from .structure import _literals as _literals
from .structure import _resharding as _resharding

_PACKAGE = __name__.rpartition(".")[0]

for _hook, _module in (
    (formula_of, "cpu_formulas._formula_table"),
    (ir.add_parts, "hi._parts"),
    (ir.first_error, "nan._find"),
    (ir.join_parts, "hi._parts"),
    (ir.lower_hi_values, "hi._lowering"),
    (ir.non_finite_report, "nan._find"),
    (ir.reference_methods, "refs._functions"),
    (ir.trace_rolled, "rolling"),
    (ir.split_parts, "hi._parts"),
    (ir.zero_parts, "hi._parts"),
):
    _hook.provide_late(f"{_PACKAGE}.{_module}")

ir.primitives.indices += [MODULES, linalg.MODULES, refs.MODULES]

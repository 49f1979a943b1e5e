"""The functions that packages below call, each with the module that has it.

Modules of this package are imported at their first use.
"""

import ricci_ir as ir
import ricci_xla as xla
from ricci_lax import authoring

from ._index import MODULES

_PACKAGE = __name__.rpartition(".")[0]

for _hook, _module in (
    (authoring.checked_out_sharding, "_placement"),
    (authoring.constrain_to_place, "_placement"),
    (authoring.create_at_place, "_placement"),
    (authoring.put_at_place, "_placement"),
    (ir.array_moves, "_placement"),
    (ir.axis_members, "collectives._gathering"),
    (ir.axis_position, "collectives._axis_index"),
    (ir.axis_reduction, "collectives._reductions"),
    (ir.memory_move, "_device_put"),
    (ir.varying_cast, "collectives._casts"),
    (xla.constrain_inner, "_placement"),
    (xla.memory_report, "_placement"),
):
    _hook.provide_late(f"{_PACKAGE}.{_module}")

ir.primitives.indices.append(MODULES)

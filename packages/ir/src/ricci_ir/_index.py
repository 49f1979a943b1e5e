"""By module, the public names of this package, which are imported at their first use.

Written by `tools/name_index.py` from the modules' `__all__`.
"""

# fmt: off
MODULES = {
    "ricci_ir._preserved": "preserved",
    "ricci_ir._tools": "call_with_arguments html_table",
    "ricci_ir.dimensions._scope": "Constraint SymbolicScope",
    "ricci_ir.dimensions._solving": "Requirements found_dimensions solve_dimensions",
    "ricci_ir.dimensions._symbolic_shapes": "symbolic_shape",
    "ricci_ir.jaxprs._array_calls": "ArrayCall ArrayCalls array_call is_typed",
    "ricci_ir.jaxprs._check": "check_jaxpr same_operation same_program same_value",
    "ricci_ir.jaxprs._make_jaxpr": "check_pair check_results eval_shape make_jaxpr",
    "ricci_ir.types._symbolic_specs": "symbolic_args_specs",
}

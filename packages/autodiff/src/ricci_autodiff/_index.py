"""By module, the public names of this package, which are imported at their first use.

Written by `tools/name_index.py` from the modules' `__all__`.
"""

# fmt: off
MODULES = {
    "ricci_autodiff._api": "FlatFunction jvp linear_transpose linearize vjp",
    "ricci_autodiff._split_rules": "split_by_linearizing split_call",
}

"""By module, the public names of this package, which are imported at their first use.

Written by `tools/name_index.py` from the modules' `__all__`.
"""

# fmt: off
MODULES = {
    "ricci_stablehlo._callbacks": "host_call host_check writes_host_checks",
    "ricci_stablehlo._expansions": "Expansion stored",
    "ricci_stablehlo._function_rules": "combining_region of_function traced",
    "ricci_stablehlo._manual_axes": "axes_left mesh_position on_each_device on_shards once_along",
}

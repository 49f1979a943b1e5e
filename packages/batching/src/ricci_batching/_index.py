"""By module, the public names of this package, which are imported at their first use.

Written by `tools/name_index.py` from the modules' `__all__`.
"""

# fmt: off
MODULES = {
    "ricci_batching._mapped_axes": "mapped_dims",
    "ricci_batching._trace": "BatchTrace BatchTracer batch_flat batch_jaxpr",
    "ricci_batching._vmap": "vmap",
    "ricci_batching._vmappable": "is_vmappable register_vmappable unregister_vmappable",
}

"""By module, the public names of this package, which are imported at their first use.

Written by `tools/name_index.py` from the modules' `__all__`.
"""

# fmt: off
MODULES = {
    "ricci_lax.annotations._xla_metadata": (
        "annotated_call call_annotated fuse_limit must_fuse_call set_xla_metadata "
        "xla_metadata_call xla_metadata_call2 xla_metadata_call_p xla_metadata_value_p"
    ),
}

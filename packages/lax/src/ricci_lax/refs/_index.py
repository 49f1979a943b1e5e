"""By module, the public names of this package, which are imported at their first use.

Written by `tools/name_index.py` from the modules' `__all__`.
"""

# fmt: off
MODULES = {
    "ricci_lax.refs._copying": (
        "are_alike common_bounds copy element_count operand_count read_bounded recast "
        "write_bounded"
    ),
    "ricci_lax.refs._functions": (
        "TransformedRef addupdate empty_ref free_ref freeze get new_ref set swap"
    ),
    "ricci_lax.refs._primitives": (
        "addupdate_p empty_ref_p free_ref_p freeze_p get_p new_ref_p place_text swap_p"
    ),
}

"""Padding rules of random primitives, by their use of keys: which bits do not depend on padding."""

from ricci_ir import Array, KeyRole, is_symbolic_dim

from ._interpreter import PaddingRule, Site, padding_stays


def _drawn(site: Site, keys: Array, *operands: Array) -> object:
    """The rule of primitives that draw an array with each key."""
    shape = site.outs[0].shape[len(site.ins[0].shape) :]
    padded = [i for i, size in enumerate(shape) if is_symbolic_dim(size)]
    if padded and not site.ins[0].dtype._impl.is_positional:
        site.refuse(
            "with this generator every number depends on the number of draws",
            "use threefry2x32 keys with jax_threefry_partitionable, or draw outside",
        )
    if any(i > 0 for i in padded):
        site.refuse(
            f"in an array of shape {shape}, the second row depends on the length of the first one",
            "draw with the padded dimension first and transpose, or vmap over keys",
        )
    return site.bind(keys, *operands)


key_rules: dict[KeyRole, PaddingRule] = {
    **dict.fromkeys(KeyRole, padding_stays),
    KeyRole.DRAW: _drawn,
    KeyRole.SPLIT: _drawn,
}

"""The roles of this package's primitives in the use of random keys."""

from ricci_ir import KeyRole, key_roles

from .keys import _primitives as keys

key_roles.update(
    {
        keys.random_bits_p: KeyRole.DRAW,
        keys.random_clone_p: KeyRole.CLONE,
        keys.random_fold_in_p: KeyRole.FOLD_IN,
        keys.random_seed_p: KeyRole.SEED,
        keys.random_split_p: KeyRole.SPLIT,
        keys.random_unwrap_p: KeyRole.UNWRAP,
        keys.random_wrap_p: KeyRole.WRAP,
    }
)

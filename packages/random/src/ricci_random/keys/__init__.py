"""Random keys: their dtype and arrays, the primitives on them, and the functions that make them."""

from . import _key_lowering as _key_lowering  # registers the lowering rules of keys
from ._checks import check_key as check_key
from ._checks import generator_of as generator_of
from ._checks import is_key as is_key
from ._derivation import PRNGKey as PRNGKey
from ._derivation import clone as clone
from ._derivation import fold_in as fold_in
from ._derivation import key as key
from ._derivation import key_data as key_data
from ._derivation import key_dtype as key_dtype
from ._derivation import key_impl as key_impl
from ._derivation import seed_integers as seed_integers
from ._derivation import split as split
from ._derivation import words_of_seed as words_of_seed
from ._derivation import wrap_key_data as wrap_key_data
from ._key_array import KeyArray as KeyArray
from ._key_calls import staged as staged
from ._key_type import Generator as Generator
from ._key_type import GeneratorLike as GeneratorLike
from ._key_type import GeneratorSpec as GeneratorSpec
from ._key_type import KeyType as KeyType
from ._key_type import register_generator as register_generator
from ._primitives import move_dim_of_keys as move_dim_of_keys
from ._primitives import random_bits_p as random_bits_p
from ._primitives import random_fold_in_p as random_fold_in_p
from ._primitives import random_seed_p as random_seed_p
from ._primitives import random_split_p as random_split_p
from ._primitives import subkeys as subkeys
from ._primitives import type_of as type_of
from ._primitives import wrap as wrap

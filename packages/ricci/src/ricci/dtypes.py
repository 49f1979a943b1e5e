"""Dtypes and their promotion."""

from ricci_ir import TypePromotionError as TypePromotionError
from ricci_ir import bfloat16 as bfloat16
from ricci_ir import canonicalize_dtype as canonicalize_dtype
from ricci_ir import extended as extended
from ricci_ir import finfo as finfo
from ricci_ir import float0 as float0
from ricci_ir import guard_public as _guard_public
from ricci_ir import iinfo as iinfo
from ricci_ir import issubdtype as issubdtype
from ricci_ir import itemsize_bits as itemsize_bits
from ricci_ir import prng_key as prng_key
from ricci_ir import result_type as result_type
from ricci_ir import scalar_type_of as scalar_type_of

_guard_public(globals())

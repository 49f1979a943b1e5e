"""Tools for defining primitives, shared with the packages above ``ricci_lax``.

The factories and the rules of a primitive's block are shown in ``docs/extending.md``; the others
are argument checks and operations that packages above share. Users who only call functions do not
need these names, so they are not exported by ``ricci_lax``.
"""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_lax.staged_calls._staged_call import call_rules as call_rules
from ricci_lax.structure._operand_types import checked_out_sharding as checked_out_sharding
from ricci_lax.structure._operand_types import constrain_to_place as constrain_to_place
from ricci_lax.structure._operand_types import create_at_place as create_at_place
from ricci_lax.structure._operand_types import place_of as place_of
from ricci_lax.structure._operand_types import put_at_place as put_at_place
from ricci_lax.structure._operand_types import with_out_sharding as with_out_sharding

from ._index import AUTHORING as _AUTHORING
from .elementwise._accuracy import CompilerAccuracy as CompilerAccuracy
from .elementwise._factories import BinaryFunction as BinaryFunction
from .elementwise._factories import UnaryFunction as UnaryFunction
from .elementwise._factories import binary_function as binary_function
from .elementwise._factories import filled_like as filled_like
from .elementwise._factories import lower_to as lower_to
from .elementwise._factories import nary as nary
from .elementwise._factories import nary_aval as nary_aval
from .elementwise._factories import repeat_to as repeat_to
from .elementwise._factories import scalar_like as scalar_like
from .elementwise._factories import sum_to as sum_to
from .elementwise._factories import unary_function as unary_function
from .rules._checkify import checks_division as checks_division
from .rules._checkify import checks_nan as checks_nan
from .rules._checkify import makes_no_nan as makes_no_nan
from .structure._operand_types import anything as anything
from .structure._operand_types import as_sizes as as_sizes
from .structure._operand_types import canonical_axis as canonical_axis
from .structure._operand_types import check_dtype as check_dtype
from .structure._operand_types import floating as floating
from .structure._operand_types import inexact as inexact
from .structure._operand_types import integral as integral
from .structure._operand_types import logical as logical
from .structure._operand_types import numeric as numeric
from .structure._operand_types import real_valued as real_valued
from .structure._operand_types import shape_of as shape_of
from .structure._resharding import reshard_to as reshard_to
from .structure._resharding import resolved_by as resolved_by

if _typing.TYPE_CHECKING:
    from ricci_lax.linalg._householder import geqrf_p as geqrf_p
    from ricci_lax.linalg._lu import solve as solve

    from .checkify._host_check import host_check_p as host_check_p
    from .checkify._log import CheckLog as CheckLog
    from .checkify._references import index_uses as index_uses
    from .checkify._references import repeated_checks as repeated_checks
    from .checkify._references import report_axis as report_axis
    from .checkify._references import report_positions as report_positions
    from .contractions._precision import canonicalize_precision as canonicalize_precision
    from .contractions._resample import resample as resample
    from .control_flow._cond import index_of_platform as index_of_platform
    from .elementwise._cpu_formulas import ElementwiseKernel as ElementwiseKernel
    from .nan._singular import Singular as Singular
    from .nan._singular import singular_points as singular_points
    from .nan._singular import singular_rules as singular_rules
    from .random_bits._threefry import threefry2x32 as threefry2x32
    from .random_bits._threefry import threefry2x32_numpy as threefry2x32_numpy
    from .random_bits._threefry import threefry2x32_p as threefry2x32_p
    from .random_bits._threefry import threefry2x32_xor as threefry2x32_xor
    from .reductions._approximate_top_k import reduced_size as reduced_size
    from .reductions._counting import lower_bincount as lower_bincount
    from .reductions._identities import highest as highest
    from .reductions._identities import lowest as lowest
    from .refs._forms import Window as Window
    from .shapes._gather import default_fill as default_fill
else:
    __getattr__, __dir__ = _export_lazily(globals(), _AUTHORING)

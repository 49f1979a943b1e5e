"""Batching: apply a function of one example to a whole batch at once."""

from ._extension import ZeroIfMapped as ZeroIfMapped
from ._extension import axis_primitive_batchers as axis_primitive_batchers
from ._extension import batch_jaxpr_axes as batch_jaxpr_axes
from ._extension import batch_subtrace as batch_subtrace
from ._extension import bdim_at_front as bdim_at_front
from ._extension import broadcast as broadcast
from ._extension import defreducer as defreducer
from ._extension import defvectorized as defvectorized
from ._extension import fancy_primitive_batchers as fancy_primitive_batchers
from ._extension import matchaxis as matchaxis
from ._extension import primitive_batchers as primitive_batchers
from ._extension import under_vmap as under_vmap
from ._extension import zero_if_mapped as zero_if_mapped
from ._mapped_axes import mapped_dims as mapped_dims
from ._rules import Axis as Axis
from ._rules import add_dim as add_dim
from ._rules import axis_name_rules as axis_name_rules
from ._rules import batch_broadcast as batch_broadcast
from ._rules import batch_of_type as batch_of_type
from ._rules import batch_rules as batch_rules
from ._rules import batch_sum as batch_sum
from ._rules import batch_transpose as batch_transpose
from ._rules import batched_at as batched_at
from ._rules import closing_primitives as closing_primitives
from ._rules import elementwise as elementwise
from ._rules import elementwise_primitives as elementwise_primitives
from ._rules import leading_dims as leading_dims
from ._rules import move_dim as move_dim
from ._rules import moved_to as moved_to
from ._rules import named_axes as named_axes
from ._vmap import BatchTrace as BatchTrace
from ._vmap import BatchTracer as BatchTracer
from ._vmap import batch_flat as batch_flat
from ._vmap import batch_jaxpr as batch_jaxpr
from ._vmap import vmap as vmap
from ._vmappable import register_vmappable as register_vmappable
from ._vmappable import unregister_vmappable as unregister_vmappable

__all__ = [
    "ZeroIfMapped",
    "batch_jaxpr_axes",
    "batch_subtrace",
    "zero_if_mapped",
    "Axis",
    "BatchTrace",
    "BatchTracer",
    "add_dim",
    "batch_broadcast",
    "batch_of_type",
    "batch_sum",
    "batch_transpose",
    "axis_name_rules",
    "axis_primitive_batchers",
    "batch_flat",
    "batch_jaxpr",
    "batch_rules",
    "batched_at",
    "closing_primitives",
    "bdim_at_front",
    "broadcast",
    "defreducer",
    "defvectorized",
    "elementwise",
    "elementwise_primitives",
    "fancy_primitive_batchers",
    "leading_dims",
    "mapped_dims",
    "matchaxis",
    "move_dim",
    "moved_to",
    "named_axes",
    "primitive_batchers",
    "register_vmappable",
    "under_vmap",
    "unregister_vmappable",
    "vmap",
]

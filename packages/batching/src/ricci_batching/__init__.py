"""Batching: apply a function of one example to a whole batch at once."""

from ._mapped_axes import mapped_dims as mapped_dims
from ._rules import Axis as Axis
from ._rules import BatchRule as BatchRule
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
from ._trace import BatchTrace as BatchTrace
from ._trace import BatchTracer as BatchTracer
from ._trace import batch_flat as batch_flat
from ._trace import batch_jaxpr as batch_jaxpr
from ._vmap import vmap as vmap
from ._vmappable import register_vmappable as register_vmappable
from ._vmappable import unregister_vmappable as unregister_vmappable

__all__ = [
    "Axis",
    "BatchRule",
    "BatchTrace",
    "BatchTracer",
    "add_dim",
    "batch_broadcast",
    "batch_of_type",
    "batch_sum",
    "batch_transpose",
    "axis_name_rules",
    "batch_flat",
    "batch_jaxpr",
    "batch_rules",
    "batched_at",
    "closing_primitives",
    "elementwise",
    "elementwise_primitives",
    "leading_dims",
    "mapped_dims",
    "move_dim",
    "moved_to",
    "named_axes",
    "register_vmappable",
    "unregister_vmappable",
    "vmap",
]

"""StableHLO: lower jaxprs to its text, and write operations in lowering rules."""

from ._attributes import attribute as attribute
from ._batched_calls import batch_annotations as batch_annotations
from ._batched_calls import batch_partitionable as batch_partitionable
from ._callbacks import host_call as host_call
from ._combining import combining_region as combining_region
from ._custom_calls import custom_call_attributes as custom_call_attributes
from ._dynamic_shapes import write_broadcast as write_broadcast
from ._dynamic_shapes import write_dynamic_slice as write_dynamic_slice
from ._dynamic_shapes import write_gather as write_gather
from ._dynamic_shapes import write_iota as write_iota
from ._dynamic_shapes import write_pad as write_pad
from ._dynamic_shapes import write_reshape as write_reshape
from ._dynamic_shapes import write_slice as write_slice
from ._function_rules import of_function as of_function
from ._function_rules import traced as traced
from ._locations import operation_name as operation_name
from ._locations import without_locations as without_locations
from ._lower_jaxpr import lower_jaxpr as lower_jaxpr
from ._lowering import Lowering as Lowering
from ._manual_axes import axes_left as axes_left
from ._manual_axes import mesh_position as mesh_position
from ._manual_axes import on_each_device as on_each_device
from ._manual_axes import once_along as once_along
from ._metadata import Metadata as Metadata
from ._metadata import annotate_value as annotate_value
from ._metadata import merged_metadata as merged_metadata
from ._module import Module as Module
from ._ordering import order_rules as order_rules
from ._ordering import ordered_among as ordered_among
from ._ordering import thread_tokens as thread_tokens
from ._ordering import tokens_at as tokens_at
from ._ordering import with_tokens as with_tokens
from ._sdy_sharding import parts_text as parts_text
from ._types import dense as dense
from ._types import element_type as element_type
from ._types import int_array as int_array
from ._types import int_list as int_list
from ._types import is_splat as is_splat
from ._types import scalar_literal as scalar_literal
from ._types import string as string
from ._types import tensor_type as tensor_type
from ._values import HostCallback as HostCallback
from ._values import LoweringRule as LoweringRule
from ._values import Value as Value
from ._values import extended_lower_rules as extended_lower_rules
from ._values import lower_rules as lower_rules

__all__ = [
    "HostCallback",
    "Lowering",
    "LoweringRule",
    "Metadata",
    "Module",
    "Value",
    "annotate_value",
    "attribute",
    "axes_left",
    "batch_annotations",
    "batch_partitionable",
    "combining_region",
    "custom_call_attributes",
    "dense",
    "element_type",
    "extended_lower_rules",
    "host_call",
    "int_array",
    "int_list",
    "is_splat",
    "lower_jaxpr",
    "lower_rules",
    "merged_metadata",
    "mesh_position",
    "of_function",
    "parts_text",
    "on_each_device",
    "once_along",
    "order_rules",
    "operation_name",
    "ordered_among",
    "scalar_literal",
    "string",
    "tensor_type",
    "thread_tokens",
    "tokens_at",
    "traced",
    "with_tokens",
    "without_locations",
    "write_broadcast",
    "write_dynamic_slice",
    "write_gather",
    "write_iota",
    "write_pad",
    "write_reshape",
    "write_slice",
]

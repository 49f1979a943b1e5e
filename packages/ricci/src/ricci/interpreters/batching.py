"""Batching rules of primitives that are defined outside of Ricci."""

from ricci_batching import register_vmappable as register_vmappable
from ricci_batching import unregister_vmappable as unregister_vmappable
from ricci_compat.batching import axis_primitive_batchers as axis_primitive_batchers
from ricci_compat.batching import batch_jaxpr_axes as batch_jaxpr_axes
from ricci_compat.batching import batch_subtrace as batch_subtrace
from ricci_compat.batching import bdim_at_front as bdim_at_front
from ricci_compat.batching import broadcast as broadcast
from ricci_compat.batching import defreducer as defreducer
from ricci_compat.batching import defvectorized as defvectorized
from ricci_compat.batching import fancy_primitive_batchers as fancy_primitive_batchers
from ricci_compat.batching import primitive_batchers as primitive_batchers
from ricci_compat.batching import zero_if_mapped as zero_if_mapped
from ricci_ir import guard_public as _guard_public

defbroadcasting = defvectorized

_guard_public(globals(), classes=False)

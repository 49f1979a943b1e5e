"""Shardings in XLA's own form."""

from ricci_ir import guard_public as _guard_public
from ricci_xla import GSPMDSharding as GSPMDSharding
from ricci_xla import (
    get_hlo_sharding_from_serialized_proto as get_hlo_sharding_from_serialized_proto,
)
from ricci_xla import get_op_sharding_from_serialized_proto as get_op_sharding_from_serialized_proto
from ricci_xla import (
    get_serialized_proto_from_hlo_sharding as get_serialized_proto_from_hlo_sharding,
)

_guard_public(globals())

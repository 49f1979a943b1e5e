"""The classes of shardings, which are jaxlib's; ``_sharding`` gives them most of their methods.

jaxlib has no stubs. The file ``_sharding_types.pyi`` tells type checkers what the classes have.
"""

from ricci_xla.devices._jaxlib import hlo, runtime

__all__ = ["GSPMDSharding", "HloSharding", "NamedSharding", "OpSharding", "Sharding"]
__all__ += ["SingleDeviceSharding"]

Sharding = runtime.Sharding
SingleDeviceSharding = runtime.SingleDeviceSharding
NamedSharding = runtime.NamedSharding
GSPMDSharding = runtime.GSPMDSharding
HloSharding = hlo.HloSharding
OpSharding = hlo.OpSharding

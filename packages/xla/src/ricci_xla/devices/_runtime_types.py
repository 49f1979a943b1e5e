"""The classes of jaxlib's runtime that this package exports or annotates with.

jaxlib has no stubs. The file ``_runtime_types.pyi`` tells type checkers what the classes have.
"""

from ._jaxlib import runtime

__all__ = ["ArrayCopySemantics", "Client", "Device", "DeviceList", "JaxRuntimeError"]
__all__ += ["PjitFunctionCache", "XlaRuntimeError"]

ArrayCopySemantics = runtime.ArrayCopySemantics
Client = runtime.Client
CompileOptions = runtime.CompileOptions
Device = runtime.Device
DeviceList = runtime.DeviceList
HostBufferSemantics = runtime.HostBufferSemantics
JaxRuntimeError = runtime.JaxRuntimeError
LoadedExecutable = runtime.LoadedExecutable
Memory = runtime.Memory
PjitFunctionCache = runtime.PjitFunctionCache
XlaRuntimeError = runtime.JaxRuntimeError

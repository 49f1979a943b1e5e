"""The class of arrays, which is jaxlib's; ``_array`` and ``ricci_numpy`` give it its methods.

jaxlib has no stubs. The file ``_array_impl.pyi`` tells type checkers what the class has.
"""

from ricci_xla.devices._jaxlib import runtime

__all__ = ["ArrayImpl"]

ArrayImpl = runtime.ArrayImpl

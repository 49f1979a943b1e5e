"""The kernels of the optional package ``ricci_native``, imported when a rule asks for one."""

import importlib
from collections.abc import Iterable, Mapping
from functools import cache

from ricci_ir import warn_user
from ricci_stablehlo import NativeKernel, installed_kernels

from ._jaxlib import runtime

# The package's name, with which the names of its kernels begin.
NATIVE = "ricci_native"


@installed_kernels.provide
@cache
def _load_native_kernels() -> Mapping[str, NativeKernel]:
    """Register the package's kernels with XLA; return them by operation.

    There are none where the package is not installed, or where its library is not built.
    """
    try:
        package = importlib.import_module(NATIVE)
    except ModuleNotFoundError as error:
        if error.name != NATIVE:
            raise
        return {}
    try:
        return package.register_kernels()
    except runtime.JaxRuntimeError as error:
        # A library that a newer jaxlib's headers were compiled into, for example.
        warn_user(
            f"the kernels of ricci-native are not called, since XLA does not take them: {error} "
            "Install or compile the package again with this jaxlib, or set RICCI_NATIVE=0."
        )
        return {}


def missing_native_kernels(targets: Iterable[str]) -> list[str]:
    """Return those of an executable's kernels that are the package's and not installed.

    Args:
      targets: the names of the kernels that it calls.
    """
    native_targets = sorted(target for target in targets if target.startswith(NATIVE))
    if not native_targets:
        return []
    installed = {kernel.target for kernel in installed_kernels.call().values()}
    return [target for target in native_targets if target not in installed]

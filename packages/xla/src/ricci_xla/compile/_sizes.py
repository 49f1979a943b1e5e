"""Reject arrays that are too large before compiling: XLA crashes on some of them."""

import os
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from ricci_ir import AbstractValue, Jaxpr, explained, is_static_shape, jaxprs_in_params
from ricci_xla.devices._runtime_types import Device, JaxRuntimeError, LoadedExecutable
from ricci_xla.tracing._program import Program

_MAX_ELEMENTS = 2**63 - 1  # of an array, in XLA


def check_sizes(program: Program, devices: Sequence[Device]) -> None:
    """Raise an error if results exceed the machine's memory, for CPU devices.

    XLA's compiler for CPUs divides by zero on some results of terabytes. The limit is twice the
    machine's memory, which leaves room for swapping.

    Raises:
      JaxRuntimeError: of the kind that the runtime raises when memory is exhausted.
      ValueError: if an array has more elements than can be counted.
    """
    for aval in program.jaxpr.in_avals:
        if not is_static_shape(getattr(aval, "shape", ())):
            raise ValueError(
                f"{program.name} was lowered for an argument of type {_shown(aval)}, whose size is "
                "symbolic, so it cannot be compiled. Give all sizes, or export it: "
                "export.export(jit(f))(...) makes a function that is compiled for each size."
            )
    if devices[0].platform != "cpu":
        return
    for aval in program.jaxpr.out_avals:
        size = _bytes(aval)
        if size >= _LARGE and size >= 2 * _memory() * len(devices):
            error = size_error(program)
            raise error or JaxRuntimeError(
                explained(
                    f"RESOURCE_EXHAUSTED: {program.name} has a result of type {_shown(aval)}, "
                    f"which takes {size / 2**30:,.0f} GiB, but this machine has "
                    f"{_memory() / 2**30:,.0f} GiB of memory. Make the array smaller.",
                    "out-of-memory",
                )
            )


_LARGE = 2**34  # bytes; below this the machine's memory is not looked up


# The most that the temporary arrays of an executable take, by the size of those of its jaxpr: XLA
# adds windows, padding and other forms of operands.
_MOST_EXPANSION = 16


def may_fill_memory(jaxpr: Jaxpr) -> bool:
    """Whether the arrays of a jaxpr are so large that ``fills_memory`` must ask XLA.

    It takes a twelfth of the time in which an executable is loaded from a cache.
    """
    # A value of a class of a user's is several arrays.
    arrays = (array for aval in _avals(jaxpr) for array in aval.lo_ty())
    return _MOST_EXPANSION * sum(map(_bytes, arrays)) >= _LARGE


def fills_memory(executable: object) -> bool:
    """Whether an executable for CPUs may need more memory than there is.

    Its calls block, so that the error comes from the call and not from a later use of a result.
    """
    if not isinstance(executable, LoadedExecutable):
        return False  # compiled for described devices
    if any(device.platform != "cpu" for device in executable.local_devices()[:1]):
        return False  # other platforms allocate before they return
    temporary = executable.get_compiled_memory_stats().temp_size_in_bytes
    return temporary >= _LARGE and 2 * temporary >= _memory()


def _memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _bytes(aval: Any) -> int:
    shape = getattr(aval, "shape", ())
    return prod(shape) * aval.dtype.itemsize if shape else 0


def _shown(aval: AbstractValue) -> str:
    return aval.str_short()


def size_error(program: Program) -> ValueError | None:
    """Return an error if an intermediate array has more elements than XLA can count."""
    for aval in _avals(program.jaxpr):
        shape = getattr(aval, "shape", ())
        if prod(n for n in shape if n) > _MAX_ELEMENTS:
            return ValueError(
                f"an array of shape {shape} has more elements than can be counted (2**63 - 1). "
                "Make it smaller."
            )
    return None


def _avals(jaxpr: Jaxpr) -> Iterator[Any]:
    for eqn in jaxpr.eqns:
        yield from (var.aval for var in eqn.outvars)
        for inner in jaxprs_in_params(eqn.params):
            yield from _avals(inner)

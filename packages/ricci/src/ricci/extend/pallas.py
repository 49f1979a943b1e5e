"""Extensions of the compilers of kernels written in Python (Pallas): not supported."""

import typing as _typing
from collections.abc import Callable as _Callable

from ricci_ir import guard_public as _guard_public

_ADVICE = (
    "kernels written in Python (Pallas) are compiled by rules of Ricci's own, which cannot be "
    "extended by JAX's. Call a kernel that is compiled already with ricci.ffi.ffi_call."
)


class GridMapping:
    """The layout of a kernel's blocks over its operands: not supported.

    Raises:
      NotImplementedError: when one is made.
    """

    def __new__(cls, *args: _typing.Any, **kwargs: _typing.Any) -> _typing.NoReturn:
        raise NotImplementedError(f"GridMapping: {_ADVICE}")


def register_lowering_rule(
    params_cls: type, rule: _Callable[..., _typing.Any], platform: str
) -> _typing.NoReturn:
    """Register a kernel's lowering rule for a platform: not supported.

    Args:
      params_cls, rule, platform: of no effect.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(f"register_lowering_rule: {_ADVICE}")


_guard_public(globals())

"""``jit`` under its earlier name."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ricci_ir import PyTree
from ricci_xla.devices._runtime_types import Device

from ._jit import jit
from ._stages import Wrapped

__all__ = ["pjit"]


def pjit[**P, R](
    fun: Callable[P, R],
    in_shardings: PyTree = None,
    out_shardings: PyTree = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Device | None = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: Mapping[str, Any] | None = None,
) -> Wrapped[P, R]:
    """Compile a function with XLA: ``jit`` with options that may be passed by position.

    Args:
      fun: a pure function of pytrees of arrays.
      in_shardings, out_shardings, static_argnums, static_argnames: as for ``jit``.
      donate_argnums, donate_argnames, keep_unused, device, backend: as for ``jit``.
      inline, compiler_options: as for ``jit``.

    Returns:
      The jitted function, as from ``jit``.

    Example:
      >>> from ricci.experimental.pjit import pjit
      >>> pjit(lambda x: x)(3.0)
      Array(3., dtype=float32, weak_type=True)
    """
    return jit(
        fun,
        in_shardings=in_shardings,
        out_shardings=out_shardings,
        static_argnums=static_argnums,
        static_argnames=static_argnames,
        donate_argnums=donate_argnums,
        donate_argnames=donate_argnames,
        keep_unused=keep_unused,
        device=device,
        backend=backend,
        inline=inline,
        compiler_options=compiler_options,
    )

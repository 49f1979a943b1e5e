"""``Inline``: when the jaxpr of a jitted function is inlined into its caller's."""

from enum import Enum

__all__ = ["Inline"]


class Inline(Enum):
    """When the jaxpr of a jitted function is inlined into that of its caller.

    ``JAX_EARLY``: while the caller is traced. ``JAX_LATE``: when the caller is lowered to
    StableHLO; ``inline=True`` means this. The others leave it to XLA, as ``inline=False`` does.
    """

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"


def inline_time(inline: bool | Inline) -> Inline:
    """Return the member for the argument ``inline`` of ``jit``, a bool or a member.

    Example:
      >>> from ricci_xla.tracing._inline import inline_time
      >>> inline_time(True)
      <Inline.JAX_LATE: 'jax_late'>
    """
    if isinstance(inline, Inline):
        return inline
    return Inline.JAX_LATE if inline else Inline.AUTO

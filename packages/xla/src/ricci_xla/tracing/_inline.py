"""``Inline``: when the program of a jitted function is inlined into its caller's."""

from enum import Enum

__all__ = [
    "Inline",
]


class Inline(Enum):
    """When the program of a jitted function is inlined into the program that calls it.

    ``JAX_EARLY``: while the caller is traced. ``JAX_LATE``: when the caller is lowered to
    StableHLO; ``inline=True`` means this. The others leave it to XLA, as ``inline=False`` does.
    """

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"


def inline_time(inline: bool | Inline) -> Inline:
    """The member for the argument ``inline`` of ``jit``, a bool or a member.

    Example:
      >>> from ricci_xla.tracing._inline import inline_time
      >>> inline_time(True)
      <Inline.JAX_LATE: 'jax_late'>
    """
    if isinstance(inline, Inline):
        return inline
    return Inline.JAX_LATE if inline else Inline.AUTO

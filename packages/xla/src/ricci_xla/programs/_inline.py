"""When a jitted function becomes part of the function that calls it."""

from enum import Enum

__all__ = [
    "Inline",
]


class Inline(Enum):
    """When the program of a jitted function is written into the program that calls it.

    ``JAX_EARLY``: while tracing. ``JAX_LATE``: when the caller is lowered to StableHLO, which is
    what ``inline=True`` means. The others leave it to XLA, which is what ``inline=False`` does.
    """

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"


def inline_time(inline: bool | Inline) -> Inline:
    """The member that a flag or a member means.

    Example:
      >>> inline_time(True)
      <Inline.JAX_LATE: 'jax_late'>
    """
    if isinstance(inline, Inline):
        return inline
    return Inline.JAX_LATE if inline else Inline.AUTO

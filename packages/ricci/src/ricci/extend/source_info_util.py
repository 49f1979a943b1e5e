"""Which frames are the user's."""

from ricci_ir import register_exclusion as register_exclusion

__all__ = [
    "register_exclusion",
]

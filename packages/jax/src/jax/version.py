"""The version of JAX whose programs run on this drop-in.

The distribution's own version, ``0.12.0.1+ricci.<version>``, is in its metadata; libraries
split this one at its dots.
"""

__version__ = "0.12.0.1"
__version_info__: tuple[int, ...] = tuple(map(int, __version__.split(".")))

__all__ = ["__version__", "__version_info__"]

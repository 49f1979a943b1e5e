"""Names of JAX's kernel languages: libraries import them before they need them.

The module has every public name; see ``ricci_kernels.absent_name``.
"""

from ricci_kernels.authoring import absent_name


def __getattr__(name: str) -> type:
    if name.startswith(("_", "pytest")):  # pytest asks modules for names of its own
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return absent_name(name)

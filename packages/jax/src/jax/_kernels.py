"""Names of JAX's kernel languages: libraries import them before they need them.

The module has every public name. Each is a class that libraries may subclass, subscript and name in
annotations; its attributes are such classes as well. To make an instance raises an error.
"""

from typing import NoReturn


class _KernelType(type):
    """The type of the names, whose attributes are names as well."""

    def __getattr__(cls, name: str) -> type:
        if name.startswith("_"):
            raise AttributeError(name)
        return _KernelType(f"{cls.__name__}.{name}", (_KernelName,), {})

    def __call__(cls, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(
            f"{cls.__name__}: kernels written in Python are not supported. Write the operation "
            "with lax or numpy, which XLA fuses, or call a compiled kernel with jax.ffi.ffi_call."
        )


class _KernelName(metaclass=_KernelType):
    def __class_getitem__(cls, item: object) -> type:
        return cls


def __getattr__(name: str) -> type:
    if name.startswith(("_", "pytest")):  # pytest asks modules for names of its own
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _KernelType(name, (_KernelName,), {})

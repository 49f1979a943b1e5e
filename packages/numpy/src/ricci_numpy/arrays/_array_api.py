"""Inspection by the array API standard: the dtypes, devices and capabilities of the namespace."""

from importlib import import_module
from types import ModuleType
from typing import Any, final

import numpy as np

from ricci_ir import DTypeLike, backend, canonicalize_dtype, python_scalar_dtype

from ._dtypes import isdtype

ARRAY_API_VERSION = "2025.12"
# The modules that give the functions of the array API to users, by name. Packages around this one
# append theirs, and the last one is the namespace of arrays.
array_namespaces = ["ricci_numpy"]
_DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
).split()
_MAX_DIMENSIONS = 64


@final
class ArrayNamespaceInfo:
    """The namespace's dtypes, devices and capabilities, as the array API standard defines them.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.__array_namespace_info__().default_dtypes()["integral"]
      dtype('int32')

    Source: the array API standard, inspection.
    """

    def capabilities(self) -> dict[str, Any]:
        """Capabilities of arrays, by the standard's names."""
        return {
            "boolean indexing": False,
            "data-dependent shapes": False,
            "max dimensions": _MAX_DIMENSIONS,
        }

    def default_device(self) -> None:
        """The default device of new arrays, which is written ``None``."""

    def devices(self) -> tuple[Any, ...]:
        """The devices that arrays can be on."""
        return backend().devices()

    def default_dtypes(self, *, device: object = None) -> dict[str, np.dtype]:
        """The dtypes that arrays have by default, by kind."""
        integer = python_scalar_dtype(int)
        return {
            "real floating": python_scalar_dtype(float),
            "complex floating": python_scalar_dtype(complex),
            "integral": integer,
            "indexing": integer,
        }

    def dtypes(
        self, *, device: object = None, kind: DTypeLike | tuple[DTypeLike, ...] | None = None
    ) -> dict[str, np.dtype]:
        """The dtypes of the standard that arrays can have, by name.

        Args:
          device: has no effect.
          kind: only those of a kind; see ``isdtype``.

        Raises:
          ValueError: if the kind is unknown.
        """
        standard = {name: np.dtype(name) for name in _DTYPES}
        return {
            name: dtype
            for name, dtype in standard.items()
            if canonicalize_dtype(dtype) == dtype and (kind is None or isdtype(dtype, kind))
        }


def array_namespace_info() -> ArrayNamespaceInfo:
    """Inspection of the namespace: dtypes, devices and capabilities.

    Example:
      >>> import ricci.numpy as jnp
      >>> sorted(jnp.__array_namespace_info__().dtypes(kind="complex floating"))
      ['complex64']

    Source: the array API standard, inspection.
    """
    return ArrayNamespaceInfo()


def array_namespace() -> ModuleType:
    """Return the module with the functions of the array API standard, as users import it."""
    return import_module(array_namespaces[-1])


def check_version(api_version: str | None) -> None:
    """Check that the namespace follows a version of the standard.

    Raises:
      ValueError: if it does not.
    """
    if api_version is not None and api_version != ARRAY_API_VERSION:
        raise ValueError(
            f"x.__array_namespace__: version {api_version!r} of the array API is not supported; "
            f"there is {ARRAY_API_VERSION}."
        )

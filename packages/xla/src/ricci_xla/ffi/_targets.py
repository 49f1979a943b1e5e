"""Registration of compiled functions and types, which executables look up by name."""

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import jaxlib

from ricci_ir import api_boundary
from ricci_stablehlo import batch_partitionable
from ricci_xla.devices._jaxlib import load_xla_client, runtime

__all__ = ["TypeRegistration", "include_dir", "pycapsule", "register_ffi_target"]
__all__ += ["register_ffi_target_as_batch_partitionable", "register_ffi_type"]
__all__ += ["register_ffi_type_id"]

_STAGES = ("instantiate", "prepare", "initialize", "execute")
_TYPE_FIELDS = ("type_id", "type_info")


class TypeRegistration(TypedDict):
    """The registration of a type for ``register_ffi_type``.

    Attributes:
      type_id: a capsule with a pointer to an ``XLA_FFI_TypeId``.
      type_info: a capsule with a pointer to an ``XLA_FFI_TypeInfo``.
    """

    type_id: Any
    type_info: NotRequired[Any]


def _python_api(name: str, result: object, *arguments: object) -> Any:
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, list(arguments)
    return function


# jaxlib takes capsules. ctypes cannot make one of an address, but can call the C API that does.
_new = _python_api(
    "PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)
_name_of = _python_api("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
_pointer_of = _python_api(
    "PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
)
_Capsule = type(_new(1, None, None))

# The registered functions, so that a clash of names is an error at once. XLA reports it only when
# the first client is created, and then no client can be created any more.
_registered: dict[tuple[str, str], tuple[Any, ...]] = {}


@api_boundary
def pycapsule(funcptr: Any) -> Any:
    """Put the address of a compiled function into a capsule, for ``register_ffi_target``.

    Args:
      funcptr: a function of a library that ``ctypes`` loaded, a pointer of ``ctypes``, or an
        address.

    Returns:
      The capsule.

    Raises:
      ValueError: for a null pointer.
      TypeError: for anything else.

    Example:
      >>> import ctypes
      >>> from ricci import ffi
      >>> type(ffi.pycapsule(ctypes.pythonapi.Py_GetVersion)).__name__
      'PyCapsule'
    """
    pointers = (ctypes._CFuncPtr, ctypes._Pointer, ctypes.c_void_p)  # pyright: ignore
    if isinstance(funcptr, pointers):
        funcptr = ctypes.cast(funcptr, ctypes.c_void_p).value
    elif funcptr is not None and (not isinstance(funcptr, int) or isinstance(funcptr, bool)):
        raise TypeError(
            f"pycapsule: expected a function of a library that ctypes loaded, got {funcptr!r:.60} "
            f"of type {type(funcptr).__name__}."
        )
    if not funcptr:
        raise ValueError("pycapsule: the pointer is null, so that there is nothing to call.")
    return _new(funcptr, None, None)


@api_boundary
def include_dir() -> str:
    """The folder with the headers that compiled functions include, such as ``xla/ffi/api/ffi.h``.

    Example:
      >>> from pathlib import Path
      >>> from ricci import ffi
      >>> Path(ffi.include_dir(), "xla", "ffi", "api", "ffi.h").exists()
      True
    """
    return str(Path(jaxlib.__path__[0], "include"))


@api_boundary
def register_ffi_target(
    name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any
) -> None:
    """Register a compiled function by a name, for ``ffi_call``.

    The same function may be registered again; another one under the same name may not.

    Args:
      name: the name.
      fn: a capsule of ``pycapsule`` with its address; or a dictionary of capsules with the stage
        ``execute``, and if needed ``instantiate``, ``prepare`` and ``initialize``.
      platform: ``"cpu"``, ``"cuda"``, ``"rocm"``, or the name of a plugin's platform.
      api_version: 1 for the typed convention of ``xla/ffi/api/ffi.h``; 0 for the older ones.
      kwargs: ``traits``, a number: 1 if its work on a GPU may be recorded and replayed.

    Raises:
      TypeError: for arguments of other types.
      JaxRuntimeError: if ``fn`` is not a function, or the name is registered for another one.

    Example:
      >>> from jaxlib import lapack
      >>> from ricci import ffi
      >>> _, handler, _ = lapack.registrations()["cpu"][0]  # or pycapsule(library.function)
      >>> ffi.register_ffi_target("doc_target", handler, platform="cpu")
    """
    _check_name("register_ffi_target", "name", name)
    _check_name("register_ffi_target", "platform", platform)
    unknown = sorted(kwargs.keys() - {"traits"})
    if unknown:
        raise TypeError(
            f"register_ffi_target got an unexpected keyword argument {unknown[0]!r}; it takes "
            "name, fn, platform, api_version and traits."
        )
    if api_version not in (0, 1):
        raise runtime.JaxRuntimeError(
            f"register_ffi_target: api_version={api_version!r} of {name!r} is not known. Pass 1 "
            "for the typed convention, or 0 for functions of (out, ins)."
        )
    key, target = (platform.lower(), name), (_checked(name, fn), api_version)
    if _registered.setdefault(key, target) != target:
        raise runtime.JaxRuntimeError(
            f"register_ffi_target: another function is registered as {name!r} for {platform}. A "
            "name cannot be reused in a process: choose another one."
        )
    load_xla_client().register_custom_call_target(
        name, fn, platform=platform, api_version=api_version, **kwargs
    )


def _check_name(function: str, what: str, name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{function}: {what} must be a string, got {name!r:.60}.")


def _checked(name: str, fn: object) -> tuple[Any, ...]:
    """The addresses of a function's stages, to compare registrations."""
    if fn is None:
        raise TypeError(f"register_ffi_target: the function of {name!r} is None.")
    if not isinstance(fn, Mapping):
        fn = {"execute": fn}
    elif "execute" not in fn or not set(fn) <= set(_STAGES):
        raise runtime.JaxRuntimeError(
            f"register_ffi_target: {name!r} must have the stage 'execute', and may have "
            f"{', '.join(map(repr, _STAGES[:-1]))}; it has {', '.join(map(repr, fn)) or 'none'}."
        )
    for stage, capsule in fn.items():
        if not isinstance(capsule, _Capsule):
            raise runtime.JaxRuntimeError(
                f"register_ffi_target: the function of {name!r} ({stage}) must be a capsule, got "
                f"{capsule!r:.60} of type {type(capsule).__name__}. Pass "
                "pycapsule(library.function), of a library that ctypes loaded."
            )
    # A function may be in several capsules: registrations are equal if the addresses are.
    return tuple((s, _pointer_of(fn[s], _name_of(fn[s]))) for s in _STAGES if s in fn)


@api_boundary
def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Declare that a registered function treats the examples of a batch independently.

    Calls by ``vmap`` on a whole batch (``vmap_method="broadcast_all"``, or ``"expand_dims"`` if all
    operands are mapped) are then sharded along the batch, and nothing is gathered.

    Args:
      name: the name under which the function is registered.

    Raises:
      TypeError: if it is not a string.

    Example:
      >>> from ricci import ffi
      >>> ffi.register_ffi_target_as_batch_partitionable("doc_target")
    """
    _check_name("register_ffi_target_as_batch_partitionable", "name", name)
    load_xla_client().register_custom_call_as_batch_partitionable(name)
    batch_partitionable.add(name)


@api_boundary
def register_ffi_type(
    name: str, type_registration: TypeRegistration, platform: str = "cpu"
) -> None:
    """Register a C++ type of functions' state, whose objects live between calls.

    Args:
      name: the type's name.
      type_registration: a dictionary with the capsule ``type_id``, and ``type_info`` if it has one.
      platform: as for ``register_ffi_target``.

    Raises:
      TypeError: if a name is not a string.
      JaxRuntimeError: for anything but such a dictionary.
    """
    _check_name("register_ffi_type", "name", name)
    _check_name("register_ffi_type", "platform", platform)
    fields: Any = type_registration
    if (
        not isinstance(fields, Mapping)
        or "type_id" not in fields
        or not set(fields) <= set(_TYPE_FIELDS)
        or not all(isinstance(capsule, _Capsule) for capsule in fields.values())
    ):
        raise runtime.JaxRuntimeError(
            f"register_ffi_type: the registration of {name!r} must be a dictionary of capsules "
            f"with 'type_id', and 'type_info' if it has one; got {fields!r:.80}."
        )
    load_xla_client().register_custom_type(name, fields, platform=platform)


@api_boundary
def register_ffi_type_id(name: str, obj: object, platform: str = "cpu") -> None:
    """Raise an error: replaced by ``register_ffi_type``.

    Args:
      name, obj, platform: of no effect.

    Raises:
      ValueError: always.
    """
    raise ValueError(
        "register_ffi_type_id is not supported by this jaxlib. Call "
        f"register_ffi_type({name!r}, {{'type_id': ...}}, platform={platform!r})."
    )

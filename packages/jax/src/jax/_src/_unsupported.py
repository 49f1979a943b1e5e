"""What libraries import, and use only where a user asks: Ricci says then that it has none."""

from collections.abc import Callable
from typing import Any, NoReturn

from ricci_ir import AbstractValue

_NO_HIJAX = (
    "types whose values are made of several arrays are not supported: leave the option off that "
    "asks for them (hijax=False in flax.nnx)"
)


class HiType(AbstractValue):
    """The type of a value made of several arrays; subclasses are never asked for anything."""


class HiPrim:
    """An operation on such values.

    Raises:
      NotImplementedError: when one is made.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{cls.__name__}: {_NO_HIJAX}.")


class aval_method:
    """Marks what such a value's tracers have as a method."""

    def __init__(self, fun: Callable[..., Any]):
        self.fun = fun


class aval_property:
    """Marks what such a value's tracers have as a property."""

    def __init__(self, fget: Callable[..., Any]):
        self.fget = fget


def register_hitype(cls: type, typeof: Callable[[Any], HiType]) -> None:
    """Take note of a class of such values; there is nothing to do until one is used."""


def _no_colocation(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name}: Python functions cannot run beside the devices of another machine. Call them in "
        "the process that drives those devices."
    )


def colocated_python(fun: Callable[..., Any]) -> NoReturn:
    """Not supported: has a function run beside the devices that hold its arguments."""
    _no_colocation("colocated_python")


def colocated_python_class(cls: type) -> NoReturn:
    """Not supported: has objects live beside the devices that hold their arguments."""
    _no_colocation("colocated_python_class")


def colocated_cpu_devices(devices: Any) -> NoReturn:
    """Not supported: finds the CPU devices beside others."""
    _no_colocation("colocated_cpu_devices")


class ifrt_programs:
    """Programs that a proxy runs, which Ricci has none of.

    Raises:
      NotImplementedError: when one is made.
    """

    @staticmethod
    def make_plugin_program(text: str) -> NoReturn:
        """Not supported: makes a program for a proxy."""
        raise NotImplementedError("make_plugin_program: programs for proxies are not supported.")

    make_plugin_compile_options = make_plugin_program


def splash_attention(*args: Any, **kwargs: Any) -> NoReturn:
    """Not supported: computes attention by a kernel written for TPUs, and describes its masks."""
    raise NotImplementedError(
        "splash_attention: kernels written for TPUs are not supported. Use "
        "jax.nn.dot_product_attention; in keras, leave flash attention off."
    )


def convert(fun_jax: Callable[..., Any], **options: Any) -> NoReturn:
    """Not supported: makes a function for TensorFlow."""
    raise NotImplementedError(
        "jax2tf.convert is not supported. jit(f).lower(...).as_text() gives the program as "
        "StableHLO, which TensorFlow can call with XlaCallModule."
    )

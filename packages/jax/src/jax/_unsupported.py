"""Names that libraries import and call only at a user's request: calls raise an error."""

from collections.abc import Callable
from typing import Any, NoReturn


def _no_colocation(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name}: Python functions cannot run beside the devices of another machine. Call them in "
        "the process that drives those devices."
    )


def colocated_python(fun: Callable[..., Any]) -> NoReturn:
    """Run a function beside the devices that hold its arguments: not supported."""
    _no_colocation("colocated_python")


def colocated_python_class(cls: type) -> NoReturn:
    """Run objects beside the devices that hold their arguments: not supported."""
    _no_colocation("colocated_python_class")


def colocated_cpu_devices(devices: Any) -> NoReturn:
    """Find the CPU devices beside others: not supported."""
    _no_colocation("colocated_cpu_devices")


class ifrt_programs:
    """Programs for a proxy: not supported.

    Raises:
      NotImplementedError: when one is made.
    """

    @staticmethod
    def make_plugin_program(text: str) -> NoReturn:
        """Make a program for a proxy: not supported."""
        raise NotImplementedError("make_plugin_program: programs for proxies are not supported.")

    make_plugin_compile_options = make_plugin_program


def splash_attention(*args: object, **kwargs: object) -> NoReturn:
    """Compute attention by a kernel written for TPUs, with its masks: not supported."""
    raise NotImplementedError(
        "splash_attention: kernels written for TPUs are not supported. Use "
        "jax.nn.dot_product_attention; in keras, leave flash attention off."
    )


def convert(fun_jax: Callable[..., Any], **options: Any) -> NoReturn:
    """Make a function for TensorFlow: not supported."""
    raise NotImplementedError(
        "jax2tf.convert is not supported. jit(f).lower(...).as_text() gives the program as "
        "StableHLO, which TensorFlow can call with XlaCallModule."
    )

"""Errors of traced programs."""

from typing import ClassVar

from ._messages import explained

__all__ = ["CallbackError", "ConcretizationTypeError", "InconclusiveDimensionOperation"]
__all__ += ["JAXIndexError", "JaxprTypeError", "JAXTypeError", "KeyReuseError"]
__all__ += ["NonConcreteBooleanIndexError", "ShardingTypeError", "tracer_message"]
__all__ += ["TracerArrayConversionError", "TracerBoolConversionError"]
__all__ += ["TracerIntegerConversionError", "UnexpectedTracerError"]


class _Explained(Exception):
    """An error whose text ends with the link of a page.

    Attributes:
      page: the page's code.
    """

    page: ClassVar[str]

    def __str__(self) -> str:
        return explained(super().__str__(), self.page)


class JAXTypeError(TypeError):
    """A value of a traced program was used in a way its type does not allow."""


class JAXIndexError(IndexError):
    """An array was indexed in a way that a traced program cannot express."""


def _describe(tracer: object) -> str:
    text = _described_as(tracer)
    return f"a {text}" if text.startswith("traced") else text


def _described_as(tracer: object) -> str:
    aval = getattr(tracer, "aval", None)
    return str(tracer) if aval is None else f"traced array of type {aval.str_short()}"


_ESCAPED = (
    "It escaped from that function, which has ended. Return the value from the function instead of "
    "saving it in a global, an attribute or a list outside of it."
)


def tracer_message(what: str, tracer: object, *advice: str) -> str:
    """A message in at most a dozen lines: the problem, the value's origin, and advice."""
    from ._tracer_names import called_in_frames  # noqa: PLC0415 - lazy: only errors need it

    origin = getattr(tracer, "_origin_message", str)() or called_in_frames(tracer)
    origin = origin.strip().splitlines()
    # A tracer whose trace has ended has leaked, and any other advice would mislead.
    if not getattr(getattr(tracer, "_trace", None), "alive", True):
        advice = (_ESCAPED,)
    if what.startswith("a traced"):
        what = f"A{what[1:]}"
    return "\n".join((what, *origin[: 10 - len(advice)], *advice))


class ConcretizationTypeError(_Explained, JAXTypeError):
    """A concrete value was needed where only the type of a traced array is known.

    Args:
      tracer: the traced array.
      context: a sentence on the operation that needed the value.
    """

    page: ClassVar[str] = "tracer-value"

    def __init__(self, tracer: object, context: str = ""):
        what = (
            f"The concrete value of {_describe(tracer)} is needed, but a tracer has only a shape "
            "and a dtype."
        )
        super().__init__(
            tracer_message(
                f"{what} {context}".rstrip(),
                tracer,
                "Keep to operations on arrays. An argument that is known before the call can be "
                "static (static_argnums, static_argnames).",
            )
        )

    @classmethod
    def of_derivative(cls, tracer: object, asked: str) -> "ConcretizationTypeError":
        """The error for a number made of a value that is being differentiated.

        Args:
          tracer: the value.
          asked: the conversion to a number, such as ``float(x)``.
        """
        # Without ``__init__``, whose message is about a tracer without a value.
        error = cls.__new__(cls)
        JAXTypeError.__init__(
            error,
            tracer_message(
                f"{asked} was called on {_describe(tracer)} that is being differentiated: a Python "
                "number has no derivative, so what is computed with it would be missing from the "
                "gradient.",
                tracer,
                "Keep to operations on arrays, as jnp.sin in place of math.sin. Where no "
                "derivative is wanted, take the number of lax.stop_gradient(x).",
            ),
        )
        return error


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced array was used as a condition, as in ``if x > 0:``."""

    page: ClassVar[str] = "tracer-bool"

    def __init__(self, tracer: object):
        JAXTypeError.__init__(
            self,
            tracer_message(
                # The first words are JAX's, which tests of libraries look for.
                f"Attempted boolean conversion of {_described_as(tracer)}: its concrete value is "
                "not known while tracing.",
                tracer,
                "To choose between values use jnp.where(condition, a, b), to choose what runs "
                "lax.cond or lax.while_loop; for `and`, `or`, `not` write &, |, ~. An argument "
                "known before the call can be static (static_argnums, static_argnames).",
            ),
        )


class TracerArrayConversionError(ConcretizationTypeError):
    """A traced array was passed to NumPy or to other code that needs its values."""

    page: ClassVar[str] = "tracer-array"

    def __init__(self, tracer: object):
        JAXTypeError.__init__(
            self,
            tracer_message(
                f"{_describe(tracer)} is needed as a NumPy array, but it is a tracer, which has no "
                "concrete values.",
                tracer,
                "Use the function of jnp in place of the one of np, and jnp.asarray(table)[i] to "
                "index an np.ndarray. To call code that is not yours use pure_callback.",
            ),
        )


class TracerIntegerConversionError(ConcretizationTypeError):
    """A traced array was used where Python needs an int: an index, a size, ``range(n)``."""

    page: ClassVar[str] = "tracer-integer"

    def __init__(self, tracer: object):
        JAXTypeError.__init__(
            self,
            tracer_message(
                f"{_describe(tracer)} is needed as an integer, but it is a tracer: its concrete "
                "value is not known while tracing.",
                tracer,
                "To index a list or an np.ndarray write jnp.asarray(table)[i], in place of "
                "range(n) lax.fori_loop. A size or an axis must be known before the call: make the "
                "argument static (static_argnums, static_argnames).",
            ),
        )


class NonConcreteBooleanIndexError(_Explained, JAXIndexError):
    """An array was indexed with a traced mask, so that the size of the result is unknown."""

    page: ClassVar[str] = "mask-index"

    def __init__(self, tracer: object):
        super().__init__(
            tracer_message(
                f"An array is indexed with a mask, {_describe(tracer)}, which is not concrete: the "
                "size of the result would depend on values that are not known while tracing.",
                tracer,
                "Keep the size: jnp.where(mask, x, fill) for x[mask], x.sum(where=mask) for "
                "x[mask].sum(), jnp.where(mask, y, x) for x.at[mask].set(y). If the size is "
                "bounded, index with jnp.nonzero(mask, size=n).",
            )
        )


class UnexpectedTracerError(_Explained, JAXTypeError):
    """A traced array was used after the function it belongs to had been traced."""

    page: ClassVar[str] = "escaped-tracer"


class KeyReuseError(_Explained, JAXTypeError):
    """A random key was used twice."""

    page: ClassVar[str] = "key-reuse"


class ShardingTypeError(_Explained):
    """The sharding of a result is ambiguous or impossible, given the operands' types."""

    page: ClassVar[str] = "sharding-types"


class CallbackError(_Explained, RuntimeError):
    """A Python callback of a compiled function raised an error, or returned a wrong type."""

    page: ClassVar[str] = "callbacks"


class JaxprTypeError(_Explained, TypeError):
    """A jaxpr is malformed: a variable is not bound, or a value has another type than declared."""

    page: ClassVar[str] = "jaxpr-types"


class InconclusiveDimensionOperation(_Explained):
    """A comparison of symbolic dimensions holds for some of their values and not for others."""

    page: ClassVar[str] = "symbolic-sizes"

"""The kinds of values that options take, and the parsing of values from users."""

import enum
from typing import Any

from ._records import Record


class NumpyDtypePromotion(enum.StrEnum):
    """The pairs of dtypes that promote without a cast: NumPy-like, or only Python scalars."""

    STANDARD = "standard"
    STRICT = "strict"


class LegacyPrngKeyState(enum.StrEnum):
    """The reaction to a raw ``uint32`` array that is used as a random key."""

    ALLOW = "allow"
    WARN = "warn"
    ERROR = "error"


class RuntimeTracebackMode(enum.StrEnum):
    """The amount of the Python traceback that is sent to the runtime with each execution."""

    OFF = "off"
    ON = "on"
    FULL = "full"


class ExplicitX64Mode(enum.IntEnum):
    """The reaction to a request for a 64-bit dtype while 64-bit dtypes are off."""

    WARN = 1
    ERROR = 2
    ALLOW = 3


class Kind:
    """A kind of values that an option can have."""

    def parse(self, name: str, value: object) -> Any:
        """Validate and convert a value from the user; an invalid one raises an error."""
        raise NotImplementedError

    def from_text(self, name: str, text: str) -> Any:
        """Parse the text of an environment variable."""
        return self.parse(name, text)

    def described(self) -> str:
        """The possible values, as text for a table."""
        raise NotImplementedError


_TRUTH = {
    **dict.fromkeys(("y", "yes", "t", "true", "on", "1"), True),
    **dict.fromkeys(("n", "no", "f", "false", "off", "0"), False),
}


class Bool(Kind, Record):
    """True or false, also spelled in words; any other object counts by its truth."""

    optional: bool = False

    def parse(self, name: str, value: object) -> bool | None:
        """Validate and convert a value from the user; an invalid one raises an error."""
        if isinstance(value, str):
            return self.from_text(name, value)
        return None if value is None and self.optional else bool(value)

    def from_text(self, name: str, text: str) -> bool:
        """Parse the text of an environment variable."""
        try:
            return _TRUTH[text.lower()]
        except KeyError:
            raise ValueError(
                f"option {name} is a switch: expected one of {', '.join(_TRUTH)}, got {text!r}"
            ) from None

    def described(self) -> str:
        """The possible values, as text for a table."""
        return "true, false" + ", none" * self.optional


class Of(Kind, Record):
    """An instance of one of some types, or ``None``."""

    cls: type
    accepts: tuple[type, ...]

    def parse(self, name: str, value: object) -> Any:
        """Validate and convert a value from the user; an invalid one raises an error."""
        if value is not None and not isinstance(value, self.accepts):
            raise ValueError(
                f"option {name} takes a {self.cls.__name__} or None, got {value!r} of type "
                f"{type(value).__name__}"
            )
        return value

    def from_text(self, name: str, text: str) -> Any:
        """Parse the text of an environment variable."""
        try:
            return self.cls(text)
        except ValueError:
            raise ValueError(f"option {name} takes a {self.cls.__name__}, got {text!r}") from None

    def described(self) -> str:
        """The possible values, as text for a table."""
        return f"{self.cls.__name__}, none"


class OneOf(Kind):
    """One of some strings."""

    def __init__(self, *values: str, optional: bool = False):
        self.values, self.optional = values, optional

    def parse(self, name: str, value: object) -> str | None:
        """Validate and convert a value from the user; an invalid one raises an error."""
        if value is None and self.optional:
            return None
        if not isinstance(value, str) or value not in self.values:
            none = "None, " if self.optional else ""
            raise ValueError(
                f"option {name}: expected one of {none}{', '.join(self.values)}; got {value!r}"
            )
        return value

    def described(self) -> str:
        """The possible values, as text for a table."""
        return ", ".join(self.values) + ", none" * self.optional


class Member(Kind, Record):
    """A member of an enumeration, also given by its name in any case."""

    cls: type[enum.Enum]

    def parse(self, name: str, value: object) -> enum.Enum:
        """Validate and convert a value from the user; an invalid one raises an error."""
        if isinstance(value, self.cls):
            return value
        members = self.cls.__members__
        if not isinstance(value, str):
            raise TypeError(
                f"option {name}: expected one of {', '.join(members).lower()} or a member of "
                f"{self.cls.__name__}; got {value!r} of type {type(value).__name__}"
            )
        try:
            return members[value.upper()]
        except KeyError:
            raise ValueError(
                f"option {name}: expected one of {', '.join(members).lower()}; got {value!r}"
            ) from None

    def described(self) -> str:
        """The possible values, as text for a table."""
        return ", ".join(self.cls.__members__).lower()


class Text(Kind):
    """A string; ``None`` is not accepted."""

    def parse(self, name: str, value: object) -> str:
        """Validate and convert a value from the user; an invalid one raises an error."""
        if not isinstance(value, str):
            raise TypeError(
                f"option {name} takes a str, got {value!r} of type {type(value).__name__}"
            )
        return value

    def described(self) -> str:
        """The possible values, as text for a table."""
        return "str"


class Device(Kind):
    """A device object, the name of a platform, or ``None``."""

    def parse(self, name: str, value: object) -> Any:
        """Validate and convert a value from the user; an invalid one raises an error."""
        if value is None or isinstance(value, str) or hasattr(value, "platform"):
            return value
        raise ValueError(
            f"option {name} takes a device such as devices()[0], or the name of a platform such "
            f"as 'cpu'; got {value!r} of type {type(value).__name__}"
        )

    def described(self) -> str:
        """The possible values, as text for a table."""
        return "a device, a platform's name, none"


BOOL = Bool()
INT = Of(int, (int,))
FLOAT = Of(float, (float, int))
STR = Of(str, (str,))
DEVICE = Device()
ERROR_BEHAVIOR = OneOf("ignore", "raise")
OOB_BEHAVIOR = OneOf("kernels", "ignore", "raise")
EFFORT = OneOf("UNKNOWN", "O0", "O1", "O2", "O3")
PRNG_IMPL = OneOf("threefry2x32", "threefry4x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32")
TRANSFER_GUARD = OneOf(
    "allow", "log", "disallow", "log_explicit", "disallow_explicit", optional=True
)
TRACEBACK_FILTERING = OneOf("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto")
# The first six name a precision, the others the types of inputs, products and sums.
MATMUL_PRECISION = OneOf(
    *("default", "high", "highest", "bfloat16", "tensorfloat32", "float32"),
    *("ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM"),
    *("ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM"),
    *("F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "BF16_BF16_F32", "BF16_BF16_F32_X3"),
    *("BF16_BF16_F32_X6", "BF16_BF16_F32_X9", "TF32_TF32_F32", "TF32_TF32_F32_X3"),
    *("F32_F32_F32", "F64_F64_F64"),
    optional=True,
)

"""What tests of a primitive need to know of it: two kinds of rules that its block may give.

``examples`` says which operands the laws of ``ricci_testing`` are checked on, ``exempt`` what does
not apply and why. Both are data, so that nothing here depends on the tests.
"""

import enum
from typing import Any, Literal, NamedTuple

from ricci_ir import rule_table, unsupported

# ``Samples``; or a function without arguments that gives pairs of operands and parameters; or
# ``no_examples("reason")`` for a primitive that the laws are not checked on.
example_rules = rule_table("examples", required=False)

# A dictionary: what the laws leave out, and why.
exempt_rules = rule_table("exempt", required=False)

Topic = Literal[
    "complex derivatives",  # accepted, but not differentiable there
    "empty",  # it takes no arrays without elements
    "phase",  # its results are determined up to a sign or phase alone
    "scalars",  # its first operand is never a scalar
    "transpose",  # its values are linear, but it is not transposed
    "bool",  # what follows are dtypes that its type allows and no backend computes
    "int",
    "uint",
    "complex",
]


class Domain(enum.Enum):
    """The numbers that an operand of an elementwise operation may be."""

    ANY = "any"
    POSITIVE = "positive"
    UNIT = "between -1 and 1"
    FRACTION = "between 0 and 1"
    ABOVE_ONE = "greater than 1"
    WHOLE = "whole numbers from 0 on"


ANY, POSITIVE, UNIT, FRACTION, ABOVE_ONE, WHOLE = Domain


class Samples(NamedTuple):
    """Examples of an elementwise primitive: operands in all dtypes that it accepts.

    Attributes:
      domains: for each operand, which numbers it may be.
      params: the parameters; examples are made with each of these dictionaries.
      fixed: the places of operands that there is no derivative by.
      order: how often it can be differentiated, 1 or 2.
      specials: whether infinities, NaN and zeros are examples; where compilers are free to choose,
        they are not. By default they are for one operand, but not for pairs.
    """

    domains: tuple[Domain, ...]
    params: tuple[dict[str, Any], ...] = ({},)
    fixed: tuple[int, ...] = ()
    order: int = 2
    specials: bool | None = None


def samples(*domains: Domain, **options: Any) -> Samples:
    """``Samples`` of operands from these domains; ``options`` are its other attributes."""
    return Samples(domains, **options)


def no_examples(reason: str) -> unsupported:
    """What a block says of a primitive that the laws are not checked on, and why they are not."""
    return unsupported(reason)


# What several families leave out.
discrete: tuple[Topic, ...] = ("bool", "int", "uint")
no_order: dict[Topic, str] = {"complex derivatives": "complex numbers have no order"}
along_an_axis: dict[Topic, str] = {"scalars": "it works along an axis, which a scalar lacks"}
of_matrices: dict[Topic, str] = {"scalars": "it takes matrices, or rows of them"}
of_windows: dict[Topic, str] = {
    "scalars": "it takes arrays that have dimensions to slide windows along"
}
up_to_phase: dict[Topic, str] = {
    "phase": "vectors are unique up to their sign or phase, which compilers choose differently"
}
without_operands: dict[Topic, str] = {
    "empty": "it has no operands",
    "scalars": "it has no operands, and its results have the shape it is told",
}

"""Two kinds of rules for tests of a primitive: ``examples`` and ``exempt``.

``examples`` are the operands on which the laws of ``ricci_testing`` are checked, ``exempt`` the
laws that do not apply, with the reason. Both are data, so this module does not depend on the tests.
"""

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from ricci_ir import RuleTable, TupleRecord, rule_table, unsupported

# ``Samples``; or a function without arguments that gives pairs of operands and parameters; or a
# sequence of ``OverAxes``; or ``no_examples("reason")`` for a primitive that the laws are not
# checked on.
example_rules: RuleTable = rule_table("examples", required=False)

# A dictionary from topics that the laws leave out to the reasons.
exempt_rules: RuleTable = rule_table("exempt", required=False)

Topic = Literal[
    "complex derivatives",  # accepted, but not differentiable there
    "empty",  # it takes no arrays without elements
    "empty derivatives",  # it takes them, but is not differentiable there
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


class Samples(TupleRecord):
    """Examples of an elementwise primitive: operands in all dtypes that it accepts.

    Attributes:
      domains: for each operand, which numbers it may be.
      params: the parameters; there are examples with each of these dictionaries.
      fixed: the positions of operands without a derivative.
      order: how often it can be differentiated, 1 or 2.
      specials: whether infinities, NaN and zeros are examples; they are not where compilers may
        give different results. By default they are for one operand, but not for pairs.
    """

    domains: tuple[Domain, ...]
    params: tuple[dict[str, Any], ...] = ({},)
    fixed: tuple[int, ...] = ()
    order: int = 2
    specials: bool | None = None


class OverAxes(TupleRecord):
    """Examples of a primitive that refers to named axes: the laws hold of it under ``vmap``.

    Attributes:
      axes: the names and the sizes of the axes.
      pairs: returns pairs of operands, with a leading dimension for each axis, and parameters.
      fixed: the positions of operands that are the same for all examples of a batch.
    """

    axes: Mapping[str, int]
    pairs: Callable[[], Iterable[tuple[Sequence[Any], dict[str, Any]]]]
    fixed: tuple[int, ...] = ()


def samples(*domains: Domain, **options: Any) -> Samples:
    """``Samples`` of operands from these domains; ``options`` are its other attributes."""
    return Samples(domains, **options)


def no_examples(reason: str) -> unsupported:
    """The ``examples`` rule of a primitive that the laws are not checked on, with the reason."""
    return unsupported(reason)


# Exemptions shared by several families.
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

"""The examples of operands and parameters on which the laws are checked, for each primitive."""

from functools import cache

from ricci_ir import Primitive, primitives

from ._arrays import array_examples
from ._contractions import contraction_examples
from ._control_flow import control_flow_examples
from ._elementwise import elementwise_examples
from ._example import Example
from ._fourier import fourier_examples
from ._jaxprs import jaxpr_examples
from ._linalg import linalg_examples
from ._samples import sampled_examples
from ._spectral import nonsymmetric_examples, spectral_examples
from ._variants import variants


@cache
def _tables() -> dict[str, list[Example]]:
    return {
        **elementwise_examples(),
        **array_examples(),
        **jaxpr_examples(),
        **contraction_examples(),
        **control_flow_examples(),
        **linalg_examples(),
        **spectral_examples(),
        **fourier_examples(),
        **nonsymmetric_examples(),
    }


def examples() -> dict[str, list[Example]]:
    """The examples of each primitive, by its name.

    Most follow from ``example_rules``. The other tables hold those that need more than samples.
    """
    return {**sampled_examples(), **_tables()}


def cases(name: str, *, full: bool = False) -> list[Example]:
    """A primitive's examples and their variants, on which the laws are checked.

    Args:
      name: the primitive.
      full: whether to return all variants; by default one for each dtype family and kind of shape
        that no example covers.

    Raises:
      KeyError: if it has no examples.
    """
    return _cases(primitives[name], full)


@cache
def _cases(primitive: Primitive, full: bool) -> list[Example]:
    base_examples = examples().get(primitive.name)
    if base_examples is None:
        raise KeyError(
            f"the primitive {primitive.name!r} has no examples: set ricci_testing."
            f"example_rules[{primitive.name!r}] = samples(...), with a domain for each operand"
        )
    return [*base_examples, *variants(primitive, base_examples, full=full)]

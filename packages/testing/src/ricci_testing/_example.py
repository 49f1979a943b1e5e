"""Example arguments of a primitive, on which the laws are checked."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ricci_ir import Jaxpr, Literal, Primitive, get_aval, primitives, trace_to_jaxpr

from ._check_grads import is_inexact

_DOUBLES = {
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.complex64): np.dtype(np.complex128),
}


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """Operands and parameters of a primitive.

    Attributes:
      args: NumPy arrays.
      params: the parameters.
      smooth: whether the result is differentiable here; where it is not, derivatives are not
        compared with finite differences.
      fixed: places of operands that derivatives are not taken by, and that batches repeat
        instead of varying: an order that must be whole, an initial value.
      order: how often it can be differentiated, 1 or 2.
      modes: the modes of differentiation that exist, of ``"fwd"`` and ``"rev"``.
      make: for parameters that hold programs: ``make(*args)`` gives those that suit operands of
        other dtypes.
    """

    args: tuple[Any, ...]
    params: dict[str, Any] = field(default_factory=dict)
    smooth: bool = True
    fixed: tuple[int, ...] = ()
    order: int = 2
    modes: tuple[str, ...] = ("fwd", "rev")
    make: Callable[..., dict[str, Any]] | None = None

    def bind(self, primitive: Primitive, *args: Any) -> list[Any]:
        """The results, as a list, for these operands."""
        result = primitive.bind(*args, **self.params)
        return list(result) if primitive.multiple_results else [result]

    def differentiable(self) -> list[int]:
        """The places of the operands that derivatives are taken by."""
        return [i for i, x in enumerate(self.args) if i not in self.fixed and is_inexact(x)]

    def in_double(self) -> "Example":
        """The same in double precision; ``enable_x64`` must be set."""
        args = tuple(map(_in_double, self.args))
        if self.make is not None:
            return replace(self, args=args, params=self.make(*args))
        doubled = lambda v: _DOUBLES.get(v, v) if isinstance(v, np.dtype) else v
        return replace(self, args=args, params={k: doubled(v) for k, v in self.params.items()})

    def __str__(self) -> str:
        types = ", ".join(str(get_aval(x)) for x in self.args)
        shown = {k: "…" if isinstance(v, Jaxpr) else v for k, v in self.params.items()}
        return f"({types})" + (f" with {shown}" if shown else "")


def _in_double(x: Any) -> Any:
    return x.astype(_DOUBLES.get(x.dtype, x.dtype))


def captured(
    name: str,
    fun: Callable[..., Any],
    *args: Any,
    **options: Any,
) -> Example:
    """The example that a public function makes: its only equation of a primitive.

    Args:
      name: the primitive.
      fun: a function of arrays that applies it to them, and to constants.
      args: NumPy arrays.
      options: other attributes of the example.

    Raises:
      ValueError: if it does not, or applies it to what it computed before.
    """

    def equation(*args: Any) -> tuple[tuple, dict]:
        jaxpr = trace_to_jaxpr(lambda *xs: _as_list(fun(*xs)), list(map(get_aval, args)))
        found = [eqn for eqn in jaxpr.eqns if eqn.primitive is primitives[name]]
        if len(found) != 1:
            raise ValueError(f"the program has {len(found)} equations of {name!r}:\n{jaxpr}")
        known = {id(v): x for v, x in zip(jaxpr.invars, args, strict=True)}
        known.update((id(v), x) for v, x in zip(jaxpr.constvars, jaxpr.consts, strict=True))
        operands = []
        for atom in found[0].invars:
            value = atom.val if type(atom) is Literal else known.get(id(atom))
            if value is None:
                raise ValueError(f"an operand of {name!r} is computed by the program:\n{jaxpr}")
            operands.append(np.asarray(value, atom.aval.dtype))
        return tuple(operands), found[0].params

    operands, params = equation(*args)
    options["make"] = lambda *_: equation(*map(_in_double, args))[1]
    return Example(operands, params, **options)


def _as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, list | tuple) else [result]

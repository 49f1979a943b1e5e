"""Example arguments of a primitive, on which the laws are checked."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ricci_ir import Jaxpr, Literal, Primitive, enable_x64, get_aval, primitives, trace_to_jaxpr

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
      make: for parameters that hold programs: ``make(*args)`` gives those that suit operands of
        other dtypes.
      only: the platforms whose results are compared; empty for all.
    """

    args: tuple[Any, ...]
    params: dict[str, Any] = field(default_factory=dict)
    smooth: bool = True
    make: Callable[..., dict[str, Any]] | None = None

    def bind(self, primitive: Primitive, *args: Any) -> list[Any]:
        """The results, as a list, for these operands."""
        result = primitive.bind(*args, **self.params)
        return list(result) if primitive.multiple_results else [result]

    @property
    def dtypes(self) -> list[Any]:
        """The operands' dtypes."""
        return [get_aval(x).dtype for x in self.args]  # pyright: ignore[reportAttributeAccessIssue]

    def in_double(self) -> "Example":
        """The same in double precision; ``enable_x64`` must be set."""
        args = tuple(_in_double(x) for x in self.args)
        if self.make is not None:
            return Example(args, self.make(*args), self.smooth, self.make)
        params = {name: _DOUBLES.get(v, v) if isinstance(v, np.dtype) else v
                  for name, v in self.params.items()}
        return Example(args, params, self.smooth)

    def __str__(self) -> str:
        types = ", ".join(get_aval(x).str_short() for x in self.args)
        shown = {k: "…" if isinstance(v, Jaxpr) else v for k, v in self.params.items()}
        return f"({types})" + (f" with {shown}" if shown else "")


def _in_double(x: Any) -> Any:
    return x.astype(_DOUBLES.get(x.dtype, x.dtype))


def captured(name: str, fun: Callable[..., Any], *args: Any, smooth: bool = True) -> Example:
    """The example that a public function makes: its only equation of a primitive.

    Args:
      name: the primitive.
      fun: a function of arrays that applies it to them, and to constants.
      args: NumPy arrays.

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
        atoms = [(a.val, a.aval.dtype) if type(a) is Literal else (known.get(id(a)), None) for a in found[0].invars]
        if any(x is None for x, _ in atoms):
            raise ValueError(f"an operand of {name!r} is computed by the program:\n{jaxpr}")
        return tuple(np.asarray(x, dtype) for x, dtype in atoms), found[0].params

    operands, params = equation(*args)
    return Example(operands, params, smooth, lambda *_: equation(*map(_in_double, args))[1])


def _as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, list | tuple) else [result]


def double_precision():
    """A context in which 64-bit dtypes are kept."""
    return enable_x64(True)

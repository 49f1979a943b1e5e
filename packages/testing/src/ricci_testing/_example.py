"""Example arguments of a primitive, on which the laws are checked."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ricci_ir import (
    Jaxpr,
    Literal,
    Primitive,
    enable_x64,
    get_aval,
    issubdtype,
    jaxprs_in_params,
    primitives,
    trace_to_jaxpr,
)

from ._check_grads import is_inexact

_DOUBLES = {
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.complex64): np.dtype(np.complex128),
}
_WIDE = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))


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
      make: for parameters that hold programs: ``make(convert)`` gives the operands, after the
        function ``convert`` was applied to them, and the parameters that suit these.
    """

    args: tuple[Any, ...]
    params: dict[str, Any] = field(default_factory=dict)
    smooth: bool = True
    fixed: tuple[int, ...] = ()
    order: int = 2
    modes: tuple[str, ...] = ("fwd", "rev")
    make: Callable[[Callable[[Any], Any]], tuple[tuple[Any, ...], dict[str, Any]]] | None = None

    @property
    def wide(self) -> bool:
        """Whether it has a dtype of 64 bits a number, which takes ``enable_x64``."""
        dtypes = [*(x.dtype for x in self.args), *self.dtype_params().values()]
        return any(dtype in _WIDE for dtype in dtypes)

    def precision(self) -> AbstractContextManager[Any]:
        """The context to use the example in."""
        return enable_x64(True) if self.wide else nullcontext()

    def dtype_params(self) -> dict[str, np.dtype]:
        """The parameters that are dtypes."""
        return {k: v for k, v in self.params.items() if isinstance(v, np.dtype)}

    def bind(self, primitive: Primitive, *args: Any) -> list[Any]:
        """The results, as a list, for these operands."""
        result = primitive.bind(*args, **self.params)
        return list(result) if primitive.multiple_results else [result]

    def differentiable(self) -> list[int]:
        """The places of the operands that derivatives are taken by."""
        return [i for i, x in enumerate(self.args) if i not in self.fixed and is_inexact(x)]

    def in_double(self) -> "Example":
        """The same in double precision; ``enable_x64`` must be set."""
        return self.converted(lambda x: cast(x, _DOUBLES.get(x.dtype, x.dtype)), _DOUBLES)

    def in_dtype(self, old: Any, new: Any) -> "Example":
        """The same with another dtype in place of one, in operands and parameters.

        Args:
          old: the dtype that the operands to convert have.
          new: the dtype to convert them to, by ``cast``.
        """
        old, new = np.dtype(old), np.dtype(new)
        return self.converted(lambda x: cast(x, new) if x.dtype == old else x, {old: new})

    def converted(
        self, convert: Callable[[Any], Any], dtypes: Mapping[np.dtype, np.dtype] | None = None
    ) -> "Example":
        """The same of other operands.

        Args:
          convert: a function of each operand.
          dtypes: what to replace parameters by that are dtypes.

        Raises:
          ValueError: if the parameters hold programs, and nothing says how to make them.
        """
        if self._has_programs():
            make = self.make
            if make is None:
                raise ValueError("the parameters hold programs, and the example has no `make`.")
            again = lambda further: make(lambda x: further(convert(x)))
            args, params = make(convert)
            return replace(self, args=args, params=params, make=again)
        args = tuple(map(convert, self.args))
        table = dtypes or {}
        changed = {k: table[v] for k, v in self.dtype_params().items() if v in table}
        return replace(self, args=args, params={**self.params, **changed})

    def _has_programs(self) -> bool:
        return next(jaxprs_in_params(self.params), None) is not None

    def __str__(self) -> str:
        with self.precision():
            types = ", ".join(str(get_aval(x)) for x in self.args)
        shown = {k: "…" if isinstance(v, Jaxpr) else v for k, v in self.params.items()}
        return f"({types})" + (f" with {shown}" if shown else "")


def cast(x: Any, dtype: Any) -> np.ndarray:
    """Values like those of an array, that another dtype can hold: no mere conversion.

    Fractions become integers of about their size and sign, signs become Booleans, and real
    numbers get an imaginary part.

    Example:
      >>> cast(np.float32([0.3, -0.7]), np.int8)
      array([ 1, -2], dtype=int8)
    """
    x, dtype = np.asarray(x), np.dtype(dtype)
    if x.dtype == dtype:
        return x
    real = np.real(x) if x.dtype.kind == "c" else x
    if dtype == np.bool_:
        return np.asarray(real > 0)
    if issubdtype(dtype, np.complexfloating) and x.dtype.kind != "c":
        result = real.astype(dtype)
        result.imag = 0.4 * np.flip(result.real)
        return result
    if issubdtype(dtype, np.integer) and issubdtype(x.dtype, np.inexact):
        real = np.rint(3 * np.nan_to_num(real.astype(np.float64), posinf=9, neginf=-9))
    if issubdtype(dtype, np.unsignedinteger):
        real = np.abs(real.astype(np.int64))
    source = x if issubdtype(dtype, np.complexfloating) else real
    with np.errstate(over="ignore"):
        return np.asarray(source).astype(dtype)


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
    options["make"] = lambda convert: equation(*map(convert, args))
    return Example(operands, params, **options)


def _as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, list | tuple) else [result]

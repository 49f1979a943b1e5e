"""Example arguments of a primitive, on which the laws are checked."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

import ricci_ir as ir
from ricci_batching import vmap
from ricci_ir import bfloat16, iinfo, issubdtype
from ricci_testing._check_grads import is_inexact

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
      smooth: whether the result is differentiable at these operands; if not, derivatives are not
        compared with finite differences.
      fixed: positions of operands that are neither differentiated by nor batched, such
        as an order that must be an integer, or an initial value.
      order: how many times it can be differentiated, 1 or 2.
      modes: the modes of differentiation that exist, of ``"fwd"`` and ``"rev"``.
      x64: whether 64-bit dtypes are enabled although it has none.
      make: for parameters that hold jaxprs: ``make(convert)`` applies the function ``convert`` to
        the operands and returns them with parameters of matching types.
      axes: the names and sizes of the axes that the primitive refers to. Operands and results have
        a leading dimension for each, and the primitive is applied under ``vmap`` over them.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> from ricci_testing import Example
      >>> example = Example((np.float32([0.5, 2.0]),))
      >>> example.result_avals(lax.sin_p)
      [ShapedArray(float32[2])]
    """

    args: tuple[Any, ...]
    params: dict[str, Any] = field(default_factory=dict)
    smooth: bool = True
    fixed: tuple[int, ...] = ()
    order: int = 2
    modes: tuple[str, ...] = ("fwd", "rev")
    x64: bool = False
    make: Callable[[Callable[[Any], Any]], tuple[tuple[Any, ...], dict[str, Any]]] | None = None
    axes: tuple[tuple[str, int], ...] = ()

    @property
    def wide(self) -> bool:
        """Whether it needs ``enable_x64``: by its flag ``x64``, or for a 64-bit dtype."""
        if self.x64:
            return True
        dtypes = [*(x.dtype for x in self.args), *self.dtype_params().values()]
        return any(dtype in _WIDE for dtype in dtypes)

    def precision(self) -> AbstractContextManager[Any]:
        """The context in which to use the example: with ``enable_x64`` if it is ``wide``."""
        return ir.enable_x64(True) if self.wide else nullcontext()

    def with_wide_types(self) -> "Example":
        """The example with 64-bit dtypes enabled, under which its jaxprs are traced again.

        Raises:
          ValueError: if the parameters hold jaxprs and the example has no ``make``.
        """
        with ir.enable_x64(True):
            return replace(self.converted(lambda x: x), x64=True)

    def dtype_params(self) -> dict[str, np.dtype]:
        """The parameters that are dtypes."""
        return {k: v for k, v in self.params.items() if isinstance(v, np.dtype)}

    def bind(self, primitive: ir.Primitive, *args: ir.ArrayLike) -> list[ir.Array]:
        """The results of the primitive for these operands, as a list."""

        def fun(*xs: ir.ArrayLike) -> list[ir.Array]:
            result = primitive.bind(*xs, **self.params)
            return list(result) if primitive.multiple_results else [result]

        # The last axis is mapped first, so that the first one is the leading dimension.
        for name, size in reversed(self.axes):
            fun = vmap(fun, axis_name=name, axis_size=size)
        return fun(*args)

    def result_avals(self, primitive: ir.Primitive) -> list[Any]:
        """The abstract types of the results.

        Raises:
          ValueError: if an operand lacks the leading dimensions of the named axes.
        """
        avals: list[Any] = list(map(ir.get_aval, self.args))
        sizes = tuple(size for _, size in self.axes)
        rank = len(sizes)
        if any(aval.shape[:rank] != sizes for aval in avals):
            raise ValueError(f"operands lack the leading dimensions {sizes} of {self.axes}")
        # The primitive sees one member of the named axes, as under ``vmap``.
        members = tuple(a.resized(a.shape[rank:]) if sizes else a for a in avals)
        with ir.extend_axes(self.axes):
            avals_of_results = primitive.result_avals(members, self.params)
        avals_of_results = avals_of_results if primitive.multiple_results else [avals_of_results]
        return [a.resized((*sizes, *a.shape)) if sizes else a for a in avals_of_results]

    def differentiable(self) -> list[int]:
        """The positions of the operands that derivatives are taken by."""
        return [i for i, x in enumerate(self.args) if i not in self.fixed and is_inexact(x)]

    def in_double(self) -> "Example":
        """The example in double precision; ``enable_x64`` must be set."""
        return self.converted(lambda x: cast(x, _DOUBLES.get(x.dtype, x.dtype)), _DOUBLES)

    def in_dtype(self, old: npt.DTypeLike, new: npt.DTypeLike) -> "Example":
        """The example with one dtype replaced by another, in operands and parameters.

        Args:
          old: the dtype that the operands to convert have.
          new: the dtype to convert them to, by ``cast``.
        """
        old, new = np.dtype(old), np.dtype(new)
        return self.converted(lambda x: cast(x, new) if x.dtype == old else x, {old: new})

    def converted(
        self,
        convert: Callable[[np.ndarray], np.ndarray],
        dtypes: Mapping[np.dtype, np.dtype] | None = None,
    ) -> "Example":
        """The example with converted operands.

        Args:
          convert: applied to each operand.
          dtypes: replacements for parameters that are dtypes.

        Raises:
          ValueError: if the parameters hold jaxprs and the example has no ``make``.
        """
        # Jaxprs in parameters have types of their own, and have to be traced again.
        if self._has_jaxprs():
            make = self.make
            if make is None:
                raise ValueError("the parameters hold jaxprs, and the example has no `make`.")
            again = lambda further: make(lambda x: further(convert(x)))
            args, params = make(convert)
            return replace(self, args=args, params=params, make=again)
        args = tuple(map(convert, self.args))
        table = dtypes or {}
        changed = {k: table[v] for k, v in self.dtype_params().items() if v in table}
        return replace(self, args=args, params={**self.params, **changed})

    def _has_jaxprs(self) -> bool:
        return next(ir.jaxprs_in_params(self.params), None) is not None

    def __str__(self) -> str:
        with self.precision():
            types = ", ".join(str(ir.get_aval(x)) for x in self.args)
        shown = {k: "…" if isinstance(v, ir.Jaxpr) else v for k, v in self.params.items()}
        width = " where 64-bit dtypes are enabled" if self.x64 else ""
        return f"({types})" + (f" with {shown}" if shown else "") + width


def cast(x: np.ndarray, dtype: npt.DTypeLike) -> np.ndarray:
    """Convert an array to values that are suitable examples in another dtype.

    Unlike ``astype``, it scales fractions before rounding them to integers, converts signs to
    Booleans, and gives real numbers an imaginary part.

    Example:
      >>> import numpy as np
      >>> from ricci_testing.examples._example import cast
      >>> cast(np.float32([0.3, -0.7]), np.int8)
      array([ 1, -2], dtype=int8)
    """
    x, dtype = np.asarray(x), np.dtype(dtype)
    if x.dtype == dtype:
        return x
    real = np.real(x) if x.dtype.kind == "c" else x
    if dtype == np.bool_:
        return np.asarray(real > 0)
    if ir.issubdtype(dtype, np.complexfloating) and x.dtype.kind != "c":
        result: Any = real.astype(dtype)
        # An imaginary part that differs from the real one, so that mixing them up shows.
        result.imag = 0.4 * np.flip(result.real)
        return result
    if ir.issubdtype(dtype, np.integer) and ir.issubdtype(x.dtype, np.inexact):
        # Scaled before rounding, as most examples are small numbers, which would all become 0 or 1.
        real = np.rint(3 * np.nan_to_num(real.astype(np.float64), posinf=9, neginf=-9))
    if ir.issubdtype(dtype, np.unsignedinteger):
        real = np.abs(real.astype(np.int64))
    source = x if ir.issubdtype(dtype, np.complexfloating) else real
    with np.errstate(over="ignore"):
        return np.asarray(source).astype(dtype)


def captured(name: str, fun: Callable[..., Any], *args: Any, **options: Any) -> Example:
    """Capture the operands and parameters with which a public function binds a primitive.

    Args:
      name: the primitive.
      fun: a function that applies the primitive once, to its arguments and to constants.
      args: NumPy arrays.
      options: other attributes of the example.

    Raises:
      ValueError: if the function does not apply the primitive exactly once, or applies it to
        an intermediate result.
    """

    def equation(*args: np.ndarray) -> tuple[tuple[np.ndarray, ...], dict[str, Any]]:
        jaxpr = ir.trace_to_jaxpr(lambda *xs: _as_list(fun(*xs)), list(map(ir.get_aval, args)))
        equations = [eqn for eqn in jaxpr.eqns if eqn.primitive is ir.primitives[name]]
        if len(equations) != 1:
            raise ValueError(f"the jaxpr has {len(equations)} equations of {name!r}:\n{jaxpr}")
        values = {id(v): x for v, x in zip(jaxpr.invars, args, strict=True)}
        values.update((id(v), x) for v, x in zip(jaxpr.constvars, jaxpr.consts, strict=True))
        operands = []
        for atom in equations[0].invars:
            value = atom.val if type(atom) is ir.Literal else values.get(id(atom))
            if value is None:
                raise ValueError(f"an operand of {name!r} is an intermediate result:\n{jaxpr}")
            operands.append(np.asarray(value, atom.aval.dtype))
        return tuple(operands), equations[0].params

    operands, params = equation(*args)
    options["make"] = lambda convert: equation(*map(convert, args))
    return Example(operands, params, **options)


def _as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, list | tuple) else [result]


F32, C64, I32, U8, I8, U32 = np.float32, np.complex64, np.int32, np.uint8, np.int8, np.uint32

# A function that applies a primitive, and its arguments.
Call = tuple[Callable[..., Any], tuple[Any, ...]]


def array_of(*shape: int, dtype: npt.DTypeLike = F32, seed: int = 0) -> np.ndarray:
    """An array of floats between -2 and 2 without ties, of small integers, or of Booleans."""
    random = np.random.default_rng(seed)
    count = int(np.prod(shape))
    kind = np.dtype(dtype).kind
    if kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return random.integers(0 if kind == "u" else -9, 10, shape).astype(dtype)
    values = random.permutation(np.linspace(-2, 2, count + 3)[1:-1])[:count].reshape(shape)
    if kind == "c":
        values = values + 1j * array_of(*shape, dtype=np.float64, seed=seed + 1)
    return np.asarray(values + 0.03 * seed).astype(dtype)


def in_dtypes(
    fun: Callable[..., Any], *shape: int, dtypes: tuple = (F32, C64, I32, bool, bfloat16)
) -> list[Call]:
    """Calls of a function with an array of this shape, one for each dtype."""
    return [(fun, (array_of(*shape, dtype=t),)) for t in dtypes]


def lowest(dtype: npt.DTypeLike) -> Any:
    """The least value of a dtype."""
    if issubdtype(dtype, np.integer):
        return np.asarray(iinfo(dtype).min).astype(dtype)[()]
    return np.asarray(False if dtype == np.bool_ else -np.inf).astype(dtype)[()]

"""The backend, which evaluates primitives on NumPy arrays by the rules of ``_rules``."""

from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_ir import Primitive, ShapedArray, Tracer

from ._array import ReferenceArray
from ._jaxprs import from_numpy, numpy_dtype, run_jaxpr, to_array, to_numpy
from ._rules import composition_of, missing_rule, rule_for


class ReferenceBackend:
    """Evaluates primitives with NumPy, one at a time."""

    name = "reference"

    def evaluate(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Apply a primitive to arrays, NumPy arrays or scalars; return its result or results.

        A primitive without a rule may be defined by a jaxpr, or by a function of arrays.

        Raises:
          NotImplementedError: if the primitive has no rule and no such definition.
        """
        for arg in args:
            if isinstance(arg, Tracer):
                raise ir.leaked_tracer(arg, primitive)
        # A rule of NumPy comes first. Primitives without one may run on the host, eagerly, as a
        # program or by a composition of other primitives.
        rule = rule_for(primitive)
        if rule is None and primitive in ir.host_rules:
            with ir.set_trace(ir.eval_trace):
                results = ir.host_rules[primitive](*args, **params)
            types: list[Any] = [ir.get_aval(x) for x in results]
            return [self.array(x, aval) for x, aval in zip(results, types, strict=True)]
        eager = ir.eager_rules.get(primitive)
        if rule is None and eager is not None and eager is not ir.as_equation:
            with ir.set_trace(ir.eval_trace):
                return eager(*args, **params)
        if rule is None and primitive in ir.program_rules:
            jaxpr, _ = ir.program_rules[primitive](**params)
            return run_jaxpr(jaxpr, args)
        avals: Any = tuple(map(ir.get_aval, args))
        # The abstract rule is evaluated as well, for it checks the operands and says what dtype and
        # weakness the result has.
        out = primitive.result_avals(avals, params)
        if rule is None:
            composition = composition_of(primitive)
            if composition is None:
                raise NotImplementedError(missing_rule(primitive))
            arrays = map(to_array, args, avals)
            with ir.set_trace(ir.eval_trace):
                composed: Any = composition(*arrays, **params)
            return (
                list(map(to_array, composed, out))
                if primitive.multiple_results
                else to_array(composed, out)
            )
        operands = list(map(to_numpy, args, avals))
        # XLA does not warn about overflow or division by zero either.
        with np.errstate(all="ignore"):
            result: Any = rule(*operands, **params)
        if not primitive.multiple_results:
            return _wrap(primitive, result, out, operands)
        return [_wrap(primitive, x, aval, operands) for x, aval in zip(result, out, strict=True)]

    def operation(self, primitive: Primitive, params: dict[str, Any]) -> Callable[..., Any]:
        """Return a function of arrays that applies a primitive with these parameters."""
        return lambda *args: self.evaluate(primitive, args, params)

    def dispatcher(self, composite: ir.OneStep) -> None:
        """Return ``None``: a composite is evaluated one operation at a time."""

    def public_dispatcher(self, function: object) -> None:
        """Return ``None``: a function is called as it is."""

    def array(self, value: np.ndarray, aval: ShapedArray) -> ReferenceArray:
        """Return an array with a copy of a NumPy array's values."""
        return ReferenceArray(np.array(value, aval.dtype), aval)

    def from_dlpack(self, x: Any, device: object, copy: bool | None) -> ReferenceArray:
        """Return an array with a copy of the values of another library's array.

        Raises:
          TypeError: if ``x`` has no ``__dlpack__`` method.
          ValueError: if ``copy`` is ``False``, or if a device is given.
        """
        if not hasattr(x, "__dlpack__"):
            raise TypeError(f"from_dlpack: expected an array with __dlpack__, got {type(x)}.")
        if copy is False or device is not None:
            raise ValueError("from_dlpack: the reference backend copies, and has no devices.")
        value = np.from_dlpack(x)
        aval = ir.get_aval(value)
        return self.array(value, aval)

    def devices(self) -> tuple[None]:
        """Return ``(None,)``: the only device is the host."""
        return (None,)

    def clear(self) -> None:
        """Do nothing: this backend has no caches."""


def _wrap(
    primitive: Primitive, result: np.ndarray | ir.Token, aval: ShapedArray, operands: list[Any]
) -> Any:
    if type(result) is ir.Token:
        return result
    value = np.asarray(result)
    if value.shape != aval.shape or value.dtype != numpy_dtype(aval.dtype):
        raise AssertionError(
            f"the reference rule of {primitive.name!r} computed {value.dtype}{list(value.shape)}, "
            f"but the abstract type is {aval.str_short()}"
        )
    # The result becomes read-only. An operand or a view shares its memory with an array that
    # others may write to, so it is copied first.
    shared = value.base is not None or any(value is x for x in operands)
    return from_numpy(value.copy() if shared else value, aval)


reference_backend: ReferenceBackend = ReferenceBackend()

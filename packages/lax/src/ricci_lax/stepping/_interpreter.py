"""Evaluation of a function operation by operation, for tools that look at each of its values."""

import linecache
from collections.abc import Callable, Sequence
from typing import Any

import ricci_ir as ir
from ricci_ir import ArrayLike, Jaxpr, JaxprEqn, Primitive
from ricci_pytree import keystr, tree_flatten_with_path, tree_leaves

__all__ = ["STORED", "Interpreter", "Location", "Runs", "is_array", "run_in_steps", "source_text"]

STORED = "stored"  # the path of arrays that a function stored in the user's objects


class Location(ir.TupleRecord):
    """The location of an operation.

    Attributes:
      origin: the user's code object and the instruction in it.
      names: the name stack that it was traced with, preceded by those of the enclosing jaxprs.
      inner_names: the part of ``names`` in the innermost jaxpr.
      path: the enclosing jaxprs, with iterations: ``("jit(f)", "iteration 3 …")``.
      parts: the names of the enclosing functions of Ricci's, such as ``norm``.
    """

    origin: tuple[Any, int]
    names: tuple[str, ...]
    inner_names: tuple[str, ...]
    path: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


class Interpreter:
    """An interpreter of operations, which steps into the jaxprs that they hold.

    A tool defines ``computed`` and ``made``.
    """

    # The library's primitives whose evaluation is being stepped through.
    _evaluating: tuple[Primitive, ...] = ()

    def apply(
        self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any], place: Location
    ) -> list[Any]:
        """Run an operation, stepping into its jaxprs."""
        # References hold concrete arrays: what the rule reads and writes is computed in steps, too.
        if any(map(ir.is_reference, operands)) and primitive in ir.discharge_rules:
            return self._discharge(primitive, operands, params)
        rule = ir.step_rules.get(primitive)
        if rule is not None:
            results = rule(self.runs(primitive, place), *operands, **params)
            if results is not None:
                return results
        program = ir.program_rules.get(primitive)
        if program is not None:
            jaxpr, name = program(**params)
            # A function of Ricci's, such as ``var``, is one operation to the user: its location is
            # the call, and its steps are told apart by ``parts``.
            if _is_users(jaxpr):
                label = f"jit({name})" if primitive is ir.staged_call.call else name
                return self.run(jaxpr, operands, place, label)
            part = place._replace(parts=(*place.parts, name.strip("_")))
            return self.run(jaxpr, operands, part)
        evaluation = _evaluation(primitive)
        if evaluation is not None and primitive not in self._evaluating:
            return self._evaluate(primitive, evaluation, operands, params, place)
        results = ir.eval_trace.process(primitive, tuple(operands), params)
        results = list(results) if primitive.multiple_results else [results]
        self.computed(primitive, operands, results, place, params)
        return results

    def _evaluate(
        self,
        primitive: Primitive,
        evaluation: Callable[..., Any],
        operands: Sequence[Any],
        params: dict[str, Any],
        place: Location,
    ) -> list[Any]:
        """Step into the function by which a library evaluates its primitive."""
        self._evaluating = (*self._evaluating, primitive)
        origin, ir.context.origin = ir.context.origin, place.origin
        try:
            with ir.set_trace(StepTrace(self)):
                results = evaluation(*operands, **params)
        finally:
            self._evaluating = self._evaluating[:-1]
            ir.context.origin = origin
        return list(results) if primitive.multiple_results else [results]

    def _discharge(
        self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        """Run an operation on references by its discharge rule, on the referenced arrays."""
        with ir.set_trace(StepTrace(self)):
            results = ir.discharge_rules[primitive](*operands, **params)
        return list(results) if primitive.multiple_results else [results]

    def run(
        self, jaxpr: Jaxpr, operands: Sequence[Any], place: Location, label: str | None = None
    ) -> list[Any]:
        """Evaluate a jaxpr of the operation at ``place``."""
        env: dict[int, Any] = {id(v): c for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True)}
        env.update((id(v), x) for v, x in zip(jaxpr.invars, operands, strict=True))
        with ir.SettingsSwitch() as switch:
            for eqn in jaxpr.eqns:
                switch.to(eqn.settings)
                values = [a.operand() if type(a) is ir.Literal else env[id(a)] for a in eqn.invars]
                results = self.apply(eqn.primitive, values, eqn.params, inside(place, eqn, label))
                env.update((id(v), r) for v, r in zip(eqn.outvars, results, strict=True))
        return [a.operand() if type(a) is ir.Literal else env[id(a)] for a in jaxpr.outvars]

    def runs(self, primitive: Primitive, place: Location) -> "Runs":
        """The ``Steps`` of an operation with inner jaxprs."""
        return Runs(self, place)

    def computed(
        self,
        primitive: Primitive,
        operands: Sequence[Any],
        results: Sequence[Any],
        place: Location,
        params: dict[str, Any],
        whole: bool = True,
    ) -> None:
        """Record the results of an operation; ``whole`` is false if ``params`` do not suffice."""
        raise NotImplementedError

    def made(self, array: ArrayLike, element: Callable[..., Any], *sources: ArrayLike) -> ArrayLike:
        """Record that an array holds elements of ``sources``; returns the array."""
        raise NotImplementedError

    def observe(self, event: object) -> None:
        """Take an event of the function's tracing; see ``ir.observing``."""


class StepTrace(ir.Trace):
    """A trace that evaluates each operation by an ``Interpreter``; values are concrete arrays."""

    __slots__ = ("interpreter",)

    def __init__(self, interpreter: Interpreter):
        super().__init__(ir.eval_trace)
        self.interpreter = interpreter

    @property
    def main(self) -> ir.Trace:
        """The trace of evaluation, since all values are concrete: nothing is being traced."""
        return ir.eval_trace

    def process(self, primitive: Primitive, args: tuple, params: dict[str, Any]) -> Any:
        """Run an operation at its location."""
        names, origin = ir.context.name_stack, ir.context.origin
        place = Location(origin or ir.caller_source(3)[:2], names, names)
        # Operations that the interpreter needs for itself are not steps of the function.
        with ir.ensure_compile_time_eval():
            results = self.interpreter.apply(primitive, args, params, place)
        return results if primitive.multiple_results else results[0]


def inside(place: Location, eqn: JaxprEqn, label: str | None) -> Location:
    """The location of an equation in the jaxpr of an operation at ``place``."""
    code, offset, names = eqn.raw_source
    return Location(
        (code, offset) if code is not None else place.origin,
        place.names + names,
        names,
        place.path if label is None else (*place.path, label),
        place.parts,
    )


def _evaluation(primitive: Primitive) -> Callable[..., Any] | None:
    """The function by which a library evaluates its primitive, or ``None`` of Ricci's own."""
    impl = primitive.impl
    is_ours = impl is None or ir.is_internal_module(getattr(impl, "__module__", "ricci"))
    return None if is_ours else impl


def _is_users(jaxpr: Jaxpr) -> bool:
    """Whether a jaxpr has equations from user code, not only from a function of Ricci's."""
    return jaxpr.derived("holds user code", lambda: (_holds_user_code(jaxpr),))[0]


def _holds_user_code(jaxpr: Jaxpr) -> bool:
    return any(
        eqn.raw_source[0] is not None or any(map(_is_users, ir.jaxprs_in_params(eqn.params)))
        for eqn in jaxpr.eqns
    )


class Runs:
    """The ``Steps`` of one operation with inner jaxprs."""

    __slots__ = ("_interpreter", "_place")

    def __init__(self, interpreter: Interpreter, place: Location):
        self._interpreter = interpreter
        self._place = place

    def run(self, jaxpr: Jaxpr, operands: Sequence[Any], place: str | None = None) -> list[Any]:
        """Evaluate an inner jaxpr of the operation."""
        return self._interpreter.run(jaxpr, operands, self._place, place)

    def step(self, eqn: JaxprEqn, operands: Sequence[Any], place: str | None = None) -> list[Any]:
        """Run one equation."""
        location = inside(self._place, eqn, place)
        with ir.SettingsSwitch() as switch:
            switch.to(eqn.settings)
            return self._interpreter.apply(eqn.primitive, operands, eqn.params, location)

    def computed(
        self,
        eqn: JaxprEqn,
        operands: Sequence[Any],
        results: Sequence[Any],
        place: str | None = None,
    ) -> None:
        """Record the results of an equation that the caller computed itself."""
        location = inside(self._place, eqn, place)
        self._interpreter.computed(
            eqn.primitive, operands, results, location, eqn.params, whole=False
        )

    def made(self, array: ArrayLike, element: Callable[..., Any], *sources: ArrayLike) -> ArrayLike:
        """Record that the array holds elements of ``sources``; returns the array."""
        return self._interpreter.made(array, element, *sources)


def source_text(source: ir.Source) -> str:
    """The user's line of code, stripped."""
    return linecache.getline(source.file, source.line).strip() if source.code else ""


def is_array(x: object) -> bool:
    """Whether an object has an abstract value."""
    try:
        ir.get_aval(x)
    except (TypeError, OverflowError):  # the latter for ints that no dtype holds, such as an id
        return False
    return True


def run_in_steps(
    interpreter: Interpreter, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[str, Any]]:
    """Call a function whose operations an interpreter evaluates.

    The user's objects are restored afterwards. Operations have the user's nearest line where a
    library's function applies them; functions are traced again for that, since jaxprs in caches
    have the innermost lines.

    Returns:
      The arrays of the result with their paths, then those that the function stored in the user's
      objects.
    """
    # Else the C++ dispatcher would run jitted functions that were called before, unseen by this
    # trace.
    switched = ir.swap_staging_flag.call(True)
    try:
        with (
            ir.preserved(fun, args, kwargs) as objects,
            ir.observing(interpreter.observe, anew=True),
            ir.users_lines(),
            ir.set_trace(StepTrace(interpreter)),
        ):
            leaves, _ = tree_flatten_with_path(fun(*args, **kwargs))
            stored = [(STORED, x) for x in tree_leaves(objects.changes())]
            arrays = [*((f"result{keystr(path)}", x) for path, x in leaves), *stored]
            return [(name, x) for name, x in arrays if is_array(x)]
    finally:
        ir.swap_staging_flag.call(switched)

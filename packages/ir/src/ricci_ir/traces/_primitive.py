"""Primitives, and the tables that hold their rules.

A package that interprets jaxprs declares a kind of rule with ``rule_table``; the call of
``define`` that ends a primitive's block must then give a rule of every required kind.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import CodeType
from typing import Any, NoReturn

from ricci_ir._by_name import PickledByName
from ricci_ir._cache import Cache
from ricci_ir._contexts import lenient_sharding
from ricci_ir._guarded_namespaces import without_boundaries
from ricci_ir._records import TupleRecord
from ricci_ir.types._abstract_value import AbstractValue

from ._sharding_rule_kinds import makes_sharding
from ._sharding_rules import result_types
from ._trace import Trace, context
from ._unreduced import SumsOfBlock

__all__ = ["as_equation", "define", "defined_at", "derived", "eager_rules", "exact_rules"]
__all__ += ["Primitive", "primitive_classes", "primitives", "reference_rules", "rule_table"]
__all__ += ["RuleTable", "sharding_rules", "sum_rules", "unsupported"]


@without_boundaries
class Primitive(PickledByName):
    """An operation that transformations know by its rules.

    Args:
      name: the name in a printed jaxpr.
      abstract_eval: maps the operands' types and the parameters to the result's type, or to a
        list of types if ``multiple_results``. It must depend on nothing else: results are cached.
      multiple_results: whether ``bind`` returns a list.
      effects: maps the parameters to the set of side effects; ``None`` for a pure operation.
      memo: whether results of ``abstract_eval`` are cached; not for primitives whose parameters
        hold jaxprs, which the cache would keep alive.

    Example:
      >>> import ricci
      >>> primitive = ricci.make_jaxpr(lambda x: x * 2.0)(1.0).eqns[0].primitive
      >>> primitive.name, float(primitive.bind(3.0, 2.0))
      ('mul', 6.0)
    """

    __slots__ = (
        "__weakref__",
        "abstract_eval",
        "aval_memo",
        "effects",
        "impl",
        "makes_sharding",
        "multiple_results",
        "name",
    )

    # Interpreters written for JAX read these. In Ricci no primitive is special: one that holds a
    # jaxpr has it as a parameter.
    call_primitive: bool = False
    map_primitive: bool = False

    def __init__(
        self,
        name: str,
        abstract_eval: Callable[..., Any] | None = None,
        *,
        multiple_results: bool = False,
        effects: Callable[[dict[str, Any]], frozenset[Any]] | None = None,
        memo: bool = True,
    ):
        self.name: str = name
        self.abstract_eval: Callable[..., Any] = abstract_eval or _no_abstract_eval(name)
        self.multiple_results: bool = multiple_results
        self.effects: Callable[[dict[str, Any]], frozenset[Any]] | None = effects
        self.aval_memo: Cache[Any, Any] | None = Cache("types of results", 2048) if memo else None
        self.impl: Callable[..., Any] | None = None
        self.makes_sharding: bool = False

    def bind(self, *args: object, **params: object) -> Any:
        """Apply the primitive in the current trace."""
        return context.trace.process(self, args, params)

    def result_avals(self, avals: tuple[AbstractValue, ...], params: dict[str, Any]) -> Any:
        """The types of the results, cached by the operands' types and the parameters."""
        memo = self.aval_memo
        if memo is None:
            return self.types_of_results(avals, params)
        key = (avals, tuple(params.items())) if params else avals
        try:
            result = memo.entries.get(key)
        except TypeError:  # a parameter that cannot be hashed
            return self.types_of_results(avals, params)
        if result is None:
            result = memo.recall(key)
            if result is None:
                result = self.types_of_results(avals, params)
                # A lenient type may be refused outside of that block, so it is not cached.
                if not lenient_sharding.value:
                    memo.add(key, result)
        return result

    def types_of_results(self, avals: Sequence[AbstractValue], params: dict[str, Any]) -> Any:
        """Result types from ``abstract_eval``, with shardings from the rule. Not cached."""
        if self.makes_sharding:
            return result_types(self, sharding_rules[self], avals, params)
        for aval in avals:
            if aval.type_sharding is not None:
                return result_types(self, sharding_rules.get(self), avals, params)
        return self.abstract_eval(*avals, **params)

    @property
    def sum_rule(self) -> SumsOfBlock:
        """The rule of kind ``sums``, or None."""
        return sum_rules.get(self)

    def bind_with_trace(
        self, trace: Trace, args: Sequence[Any], avals: object, params: dict[str, Any]
    ) -> Any:
        """Apply the primitive in a trace, whichever is the current one.

        Args:
          avals: the operands' types; not needed here.
        """
        previous, context.trace = context.trace, trace
        try:
            return self.bind(*args, **params)
        finally:
            context.trace = previous

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The keyword arguments for ``bind`` from an equation's parameters."""
        return dict(params)

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Set the function that evaluates the primitive eagerly; returns it."""
        self.impl = impl
        eager_rules[self] = impl
        return impl

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule for the types of the results; returns it."""
        self.abstract_eval = rule
        return rule

    def def_effectful_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule for the types of the results and the side effects; returns it.

        Effects are those of the primitive, not of a call: an effect that the rule returned once is
        one of all later equations.

        Args:
          rule: returns ``(result types, effects)``.
        """
        seen: set[Any] = set()

        def abstract_eval(*avals: object, **params: object) -> Any:
            result, effects = rule(*avals, **params)
            seen.update(effects)
            return result

        self.abstract_eval = abstract_eval
        self.effects = lambda params: frozenset(seen)
        return rule

    def __repr__(self) -> str:
        return self.name


def _no_abstract_eval(name: str) -> Callable[..., Any]:
    def abstract_eval(*avals, **params):
        raise NotImplementedError(f"primitive {name!r} has no rule for abstract evaluation")

    return abstract_eval


class unsupported:
    """A rule that cannot exist; calling it raises ``NotImplementedError`` with the reason.

    Args:
      reason: the reason, and an alternative.
      error: the class to raise instead of ``NotImplementedError``.
    """

    __slots__ = ("error", "name", "reason")

    def __init__(self, reason: str, error: type[Exception] = NotImplementedError):
        self.reason: str = reason
        self.error: type[Exception] = error
        self.name: str = ""

    def __call__(self, *args: object, **params: object) -> NoReturn:
        raise self.error(f"{self.name}: {self.reason}")


class derived:
    """A rule that is computed from the primitive: ``make(primitive)`` returns it."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[Primitive], Any]):
        self.make: Callable[[Primitive], Any] = make


class RuleTable(dict[Primitive, Any]):
    """The rules of one kind, by primitive."""

    def __init__(self, kind: str):
        super().__init__()
        self.kind = kind

    def define(self, primitive: Primitive, rule: object) -> None:
        """Set the rule of a primitive, completing one that is ``derived`` or ``unsupported``."""
        if isinstance(rule, derived):
            rule = rule.make(primitive)
        if isinstance(rule, unsupported):
            named = unsupported(rule.reason, rule.error)
            named.name = f"{self.kind} of {primitive.name}"
            rule = named
        self[primitive] = rule

    def __missing__(self, primitive: Primitive) -> NoReturn:
        raise NotImplementedError(
            f"primitive {primitive.name!r} has no {self.kind} rule: "
            f"pass {self.kind}=... where it is defined"
        )


_required: dict[str, RuleTable] = {}
_optional: dict[str, RuleTable] = {}


def rule_table(kind: str, *, required: bool = True) -> RuleTable:
    """Declare a kind of rule; ``define`` takes it as a keyword from now on."""
    table = RuleTable(kind)
    (_required if required else _optional)[kind] = table
    return table


# For primitives that are evaluated without an executable: ``rule(*args, **params)``.
eager_rules: RuleTable = rule_table("eager", required=False)


def as_equation(*args: object, **params: object) -> NoReturn:
    """The ``eager`` rule of primitives that are compiled as a jaxpr of one equation.

    For those that have a program, but are lowered in another way where several devices share them.
    """
    raise AssertionError("the backend compiles the operation")


# For primitives that NumPy computes to the same bits as XLA: ``rule(*arrays, **params)`` returns an
# array, or a sequence of arrays, or ``NotImplemented`` for operands for which the bits may differ.
exact_rules: RuleTable = rule_table("exact", required=False)

# For primitives that NumPy computes: ``rule(*arrays, **params)``. Unlike an ``exact`` rule it may
# differ in the last places. Arrays of dtypes that NumPy lacks are passed in a wider dtype.
reference_rules: RuleTable = rule_table("reference", required=False)

# The propagation of shardings and varying axes: see ``_sharding_rules``.
sharding_rules: RuleTable = rule_table("sharding")

# For primitives that may be applied to unreduced operands: see ``_unreduced``.
sum_rules: RuleTable = rule_table("sums", required=False)


class Primitives(dict[str, Primitive]):
    """The defined primitives by name. A package may import the modules that define them late.

    Attributes:
      indices: for each such package, the names that each of its modules defines, with spaces
        between them: see ``export_lazily``. A primitive ``x-y`` is the value of ``x_y_p``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.indices: list[Mapping[str, str]] = []

    def load(self, name: str) -> None:
        """Import the module that defines a primitive, if a package's index has it."""
        variable = f"{name.replace('-', '_')}_p"
        for index in self.indices:
            for module, names in index.items():
                if variable in names.split():
                    import_module(module)

    def load_all(self) -> None:
        """Import every module that defines primitives."""
        for index in self.indices:
            for module in index:
                import_module(module)

    def __contains__(self, name: object) -> bool:
        if not super().__contains__(name) and isinstance(name, str):
            self.load(name)
        return super().__contains__(name)

    def __missing__(self, name: str) -> Primitive:
        if name not in self:
            self.load_all()
        if name in self:
            return self[name]
        raise KeyError(name)


primitives: Primitives = Primitives()

# By kind of rule, the subclass of ``Primitive`` for primitives that have such a rule.
primitive_classes: dict[str, type[Primitive]] = {}


class _Place(TupleRecord):
    """The place where a primitive is defined; ``code`` is the code object that ran there."""

    module: str
    file: str
    line: int
    code: CodeType

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


_places: dict[str, _Place] = {}


def _place_of_block() -> _Place:
    """The line of the block that calls ``define``, directly or through one of Ricci's factories."""
    frame = sys._getframe(2)
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__", "")
        if frame.f_code.co_name == "<module>" or not module.startswith("ricci_"):
            break
        frame = frame.f_back
    module = frame.f_globals.get("__name__", "")
    return _Place(module, frame.f_code.co_filename, frame.f_lineno, frame.f_code)


def defined_at(primitive: Primitive) -> str:
    """The file and line of a primitive's block; empty for one that ``define`` did not define."""
    is_defined = primitives.get(primitive.name) is primitive and primitive.name in _places
    return str(_places[primitive.name]) if is_defined else ""


def _check_is_free(name: str, place: _Place) -> None:
    """Raise ``ValueError`` if another block has defined a primitive of this name.

    A block that runs again replaces its own primitive. It counts as the same block if it is in a
    module of the same name and is either other code (a reloaded module, an edited notebook cell)
    or the same code at the same line (a function that defines a primitive, called twice).
    """
    # A package's own block may run before other modules of it, whose names are its own too.
    is_taken = name in (primitives.keys() if place.module.startswith("ricci_") else primitives)
    other = _places.get(name)
    if other is None or not is_taken:
        return
    again = other.module == place.module and (other.code is not place.code or other == place)
    if not again:
        raise ValueError(
            f"a primitive named {name!r} is defined already, at {other}; it cannot be defined "
            f"once more at {place}. Give one of the two another name."
        )


def define(
    name: str,
    *,
    abstract_eval: Callable[..., Any],
    multiple_results: bool = False,
    effects: Callable[[dict[str, Any]], frozenset[Any]] | None = None,
    memo: bool = True,
    **rules: object,
) -> Primitive:
    """Define a primitive with all its rules.

    Args:
      name: the printed name, unique.
      abstract_eval, multiple_results, effects, memo: see ``Primitive``.
      rules: one rule for each declared kind (``jvp``, ``transpose``, ``batch``, ``lower``); for
        a rule that cannot exist, give ``unsupported("reason")``.

    Raises:
      TypeError: if a required rule is missing, or a keyword is not a kind of rule.
      ValueError: if another block has defined a primitive of this name.
    """
    missing = [kind for kind in _required if kind not in rules]
    if missing:
        raise TypeError(
            f"primitive {name!r} lacks rules: {', '.join(missing)}. "
            'Give each, or unsupported("reason") for one that cannot exist.'
        )
    if any(kind not in _required and kind not in _optional for kind in rules):
        primitives.load_all()  # which declares kinds of rules that few primitives have
    tables = []
    for kind in rules:
        table = _required.get(kind, _optional.get(kind))
        if table is None:
            raise TypeError(f"primitive {name!r}: no package declares rules of kind {kind!r}")
        tables.append(table)
    place = _place_of_block()
    _check_is_free(name, place)
    cls = next((primitive_classes[kind] for kind in rules if kind in primitive_classes), Primitive)
    primitive = cls(
        name, abstract_eval, multiple_results=multiple_results, effects=effects, memo=memo
    )
    for table, rule in zip(tables, rules.values(), strict=True):
        table.define(primitive, rule)
    primitive.makes_sharding = isinstance(sharding_rules.get(primitive), makes_sharding)
    primitives[name] = primitive
    _places[name] = place
    return primitive

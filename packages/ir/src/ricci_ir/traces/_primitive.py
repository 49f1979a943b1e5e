"""Primitives, and the tables that hold their rules.

A package that interprets programs declares a kind of rule with ``rule_table``; the call of
``define`` that ends a primitive's block must then give a rule of every required kind.
"""

from collections.abc import Callable
from typing import Any

from ricci_ir._cache import Cache

from ._trace import context

__all__ = [
    "define",
    "derived",
    "eager_rules",
    "exact_rules",
    "Primitive",
    "primitives",
    "rule_table",
    "RuleTable",
    "unsupported",
]


class Primitive:
    """An operation that transformations know by its rules.

    Args:
      name: how it appears in a printed jaxpr.
      abstract_eval: maps the operands' types and the parameters to the result's type, or to a
        list of types if ``multiple_results``. It must depend on nothing else: results are kept.
      multiple_results: whether ``bind`` returns a list.
      effects: maps the parameters to the set of side effects; ``None`` for a pure operation.
      memo: whether results of ``abstract_eval`` are kept; not for primitives whose parameters
        hold programs, which would be kept alive.
    """

    __slots__ = (
        "__weakref__",
        "abstract_eval",
        "aval_memo",
        "effects",
        "impl",
        "multiple_results",
        "name",
    )

    # What interpreters ask of a primitive: programs are parameters of primitives like others here.
    call_primitive = False
    map_primitive = False

    def __init__(
        self,
        name: str,
        abstract_eval: Callable[..., Any] | None = None,
        *,
        multiple_results: bool = False,
        effects: Callable[[dict[str, Any]], frozenset] | None = None,
        memo: bool = True,
    ):
        self.name = name
        self.abstract_eval = abstract_eval or _no_abstract_eval(name)
        self.multiple_results = multiple_results
        self.effects = effects
        self.aval_memo: Cache[Any, Any] | None = Cache("types of results", 2048) if memo else None
        self.impl: Callable[..., Any] | None = None

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive in the current trace."""
        return context.trace.process(self, args, params)

    def result_avals(self, avals: tuple, params: dict[str, Any]) -> Any:
        """``abstract_eval`` of these operands, computed once for each combination."""
        memo = self.aval_memo
        if memo is None:
            return self.abstract_eval(*avals, **params)
        key = (avals, tuple(params.items())) if params else avals
        try:
            result = memo.entries.get(key)
        except TypeError:  # a parameter that cannot be hashed
            return self.abstract_eval(*avals, **params)
        if result is None:
            result = memo.recall(key)
            if result is None:
                result = memo.add(key, self.abstract_eval(*avals, **params))
        return result

    def bind_with_trace(self, trace: Any, args: Any, avals: Any, params: dict[str, Any]) -> Any:
        """Apply the primitive in a trace, whichever is the current one.

        Args:
          avals: the operands' types; not needed here.
        """
        previous, context.trace = context.trace, trace
        try:
            return self.bind(*args, **params)
        finally:
            context.trace = previous

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Say how arrays are computed now, outside of any program; returns ``impl``."""
        self.impl = impl
        eager_rules[self] = impl
        return impl

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Say of what type the result is; returns the rule."""
        self.abstract_eval = rule
        return rule

    def def_effectful_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Say of what type the result is, and which side effects there are; returns the rule.

        Effects count as the primitive's own from the first operands on that have them.

        Args:
          rule: gives ``(result types, effects)``.
        """
        found: set[Any] = set()

        def abstract_eval(*avals: Any, **params: Any) -> Any:
            result, effects = rule(*avals, **params)
            found.update(effects)
            return result

        self.abstract_eval = abstract_eval
        self.effects = lambda params: frozenset(found)
        return rule

    def __repr__(self) -> str:
        return self.name


def _no_abstract_eval(name: str) -> Callable[..., Any]:
    def abstract_eval(*avals, **params):
        raise NotImplementedError(f"primitive {name!r} has no rule for abstract evaluation")

    return abstract_eval


class unsupported:
    """A rule that cannot exist; using it raises ``NotImplementedError`` with the reason.

    Args:
      reason: why not, and what to do instead.
      error: what to raise instead of ``NotImplementedError``.
    """

    __slots__ = ("error", "name", "reason")

    def __init__(self, reason: str, error: type[Exception] = NotImplementedError):
        self.reason = reason
        self.error = error
        self.name = ""

    def __call__(self, *args, **params):
        raise self.error(f"{self.name}: {self.reason}")


class derived:
    """A rule that follows from the primitive itself: ``make(primitive)`` gives it."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[Primitive], Any]):
        self.make = make


class RuleTable(dict[Primitive, Any]):
    """The rules of one kind, by primitive."""

    def __init__(self, kind: str):
        super().__init__()
        self.kind = kind

    def define(self, primitive: Primitive, rule: Any) -> None:
        """Set the rule of a primitive, completing one that is ``derived`` or ``unsupported``."""
        if isinstance(rule, derived):
            rule = rule.make(primitive)
        if isinstance(rule, unsupported):
            named = unsupported(rule.reason, rule.error)
            named.name = f"{self.kind} of {primitive.name}"
            rule = named
        self[primitive] = rule

    def __missing__(self, primitive: Primitive):
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


# For primitives that are done on arrays without a program: ``rule(*args, **params)``.
eager_rules = rule_table("eager", required=False)

# For primitives that NumPy computes to the same bits: ``rule(*arrays, **params)`` gives an array,
# or a sequence of them for several results, or ``NotImplemented`` for what is not so.
exact_rules = rule_table("exact", required=False)

primitives: dict[str, Primitive] = {}


def define(
    name: str,
    *,
    abstract_eval: Callable[..., Any],
    multiple_results: bool = False,
    effects: Callable[[dict[str, Any]], frozenset] | None = None,
    memo: bool = True,
    **rules: Any,
) -> Primitive:
    """Define a primitive with all its rules.

    Args:
      name: the printed name, unique.
      abstract_eval, multiple_results, effects, memo: see ``Primitive``.
      rules: one rule for each declared kind (``jvp``, ``transpose``, ``batch``, ``lower``); a
        gap is said aloud with ``unsupported("reason")``.

    Raises:
      TypeError: if a required rule is missing, or a keyword is not a kind of rule.
    """
    missing = [kind for kind in _required if kind not in rules]
    if missing:
        raise TypeError(
            f"primitive {name!r} lacks rules: {', '.join(missing)}. "
            'Give each, or say why it cannot exist with unsupported("reason").'
        )
    primitive = Primitive(
        name, abstract_eval, multiple_results=multiple_results, effects=effects, memo=memo
    )
    for kind, rule in rules.items():
        table = _required.get(kind, _optional.get(kind))
        if table is None:
            raise TypeError(f"primitive {name!r}: no package declares rules of kind {kind!r}")
        table.define(primitive, rule)
    primitives[name] = primitive
    return primitive

"""Calls of functions with custom rules: resolved, traced to a jaxpr, or run eagerly."""

from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, Concatenate, Protocol, Self, cast, overload

import ricci_autodiff as autodiff
import ricci_ir as ir
from ricci_batching import BatchTracer
from ricci_pytree import PyTreeDef, argument_paths, read_signature, tree_flatten, tree_unflatten

from ._eager_call import EagerCall, is_eager
from ._shared_rules import check_unwritten


class Call(ir.TupleRecord):
    """A call of a custom function, with its arguments in positional order.

    Attributes:
      leaves, tree: the differentiable arguments, flattened.
      static: the other arguments, as ``(position, value)`` pairs.
      paths: returns the leaves' names, for error messages.
      references: the positions of the leaves that are references.
    """

    leaves: list[Any]
    tree: PyTreeDef
    static: tuple[tuple[int, Any], ...]
    paths: Callable[[], list[str]]
    references: tuple[int, ...] = ()

    def form(self) -> "Call":
        """The call without its arguments, for objects that outlive it."""
        return self._replace(leaves=[], paths=list)

    def arguments(self, flat: Sequence[Any]) -> tuple[Any, ...]:
        """All arguments, with ``flat`` in place of the leaves."""
        args = list(tree_unflatten(self.tree, flat))
        for position, value in self.static:
            args.insert(position, value)
        return tuple(args)

    def differentiated_references(self) -> list[int]:
        """The positions of references that hold values which are being differentiated."""
        return [i for i in self.references if _is_differentiated(self.leaves[i].read())]

    def with_references(self, flat: Sequence[Any]) -> tuple[list[Any], dict[int, Any]]:
        """The leaves with new references to arrays, and these arrays by position.

        An array in place of a reference is the value of one that is differentiated, or of one that
        was discharged. Where a jaxpr is recorded, the rule gets that array itself.
        """
        leaves = list(flat)
        if not self.references or not is_eager():
            return leaves, {}
        arrays = {i: flat[i] for i in self.references if not ir.is_reference(flat[i])}
        for i, array in arrays.items():
            leaves[i] = ir.Ref(ir.AbstractRef(ir.get_aval(array)), array)
        return leaves, arrays


def _is_differentiated(x: object) -> bool:
    """Whether a value depends on one that an enclosing transformation differentiates."""
    while isinstance(x, BatchTracer):
        x = x.value
    return isinstance(x, autodiff.JVPTracer)


class _Rules(Protocol):
    """A custom function's rules for one form of call, as functions of flat arrays."""

    custom: Any
    call: Call
    const_count: int
    out_tree: PyTreeDef | EagerCall


def same_calls(one: _Rules, other: _Rules) -> bool:
    """Whether rules are those of one function, for calls that differ in their arrays alone."""
    return (
        one.custom is other.custom
        and one.const_count == other.const_count
        and one.out_tree == other.out_tree
        and one.call.tree == other.call.tree
        and ir.same_value(one.call.static, other.call.static)
    )


@ir.without_boundaries  # calls of its objects have their own
class CustomFunction[**P, R](ir.PickledByName):
    """A function with a custom rule; each subclass is for one kind of rule.

    Attributes:
      fun: the function.
      is_shared: whether its jaxpr is cached for later calls with the same types. That of a user's
        function with derivative rules is not: variables that it closes over may change.
    """

    is_shared: bool = True

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Iterable[str] = (),
    ):
        if not isinstance(fun, type | CustomFunction):
            self.__dict__.update(getattr(fun, "__dict__", ()))
        self.__wrapped__: Callable[..., Any] = fun
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            if hasattr(fun, name):
                setattr(self, name, getattr(fun, name))
        self.fun: Callable[..., Any] = fun
        self.signature: Signature | None = read_signature(fun)
        names = (
            (nondiff_argnames,) if isinstance(nondiff_argnames, str) else tuple(nondiff_argnames)
        )
        numbers = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        if names and self.signature is not None:
            order = list(self.signature.parameters)
            numbers = (*numbers, *(order.index(name) for name in names))
        self.nondiff_argnums: tuple[int, ...] = tuple(sorted(set(numbers)))
        self._jaxprs: ir.Cache[Any, tuple[ir.Jaxpr, PyTreeDef]] = ir.Cache(
            "functions with custom rules", 1024
        )

    @property
    def name(self) -> str:
        """The function's name in messages and jaxprs."""
        return getattr(self.fun, "__name__", type(self.fun).__name__)

    if not TYPE_CHECKING:  # checkers report misspelt methods

        def __getattr__(self, name: str) -> Any:
            # The rules of a function with other custom rules, on which this one is stacked.
            fun = self.__dict__.get("fun")
            if isinstance(fun, CustomFunction) and not name.startswith("_"):
                return getattr(fun, name)
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}", obj=self
            )

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function; each kind of rule binds another primitive."""
        raise NotImplementedError

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type[Any]) -> Self: ...
        @overload
        def __get__[S, **Q, T](
            self: "CustomFunction[Concatenate[S, Q], T]",
            instance: S,
            owner: type[Any] | None = None,
        ) -> Callable[Q, T]: ...

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        if instance is None:
            return self
        call = cast(Callable[..., Any], self)
        return lambda *args, **kwargs: call(instance, *args, **kwargs)

    def resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """Put a call's arguments in positional order, and separate the static ones."""
        if kwargs or (self.signature is not None and len(args) < len(self.signature.parameters)):
            if self.signature is None:
                raise TypeError(
                    f"{self.name}: keyword arguments need a signature that can be read; pass the "
                    "arguments by position."
                )
            bound = self.signature.bind(*args, **kwargs)
            places = {
                name
                for name, p in self.signature.parameters.items()
                if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
            }
            named = sorted(kwargs.keys() - places)
            bound.apply_defaults()
            if named:
                raise TypeError(
                    f"{self.name}: keyword-only arguments {named} cannot be passed "
                    "to a function with a rule of its own; make them positional."
                )
            args = bound.args
        static_at = {n % len(args) for n in self.nondiff_argnums if n < len(args)}
        static = tuple((i, args[i]) for i in sorted(static_at))
        dynamic = tuple(a for i, a in enumerate(args) if i not in static_at)
        leaves, tree = tree_flatten(dynamic)
        fun = None if static else self.fun
        references = tuple(i for i, x in enumerate(leaves) if ir.is_reference(x))
        return Call(leaves, tree, static, lambda: argument_paths(dynamic, {}, fun), references)

    def apply(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], bind: Callable[..., list[Any]]
    ) -> ir.PyTree:
        """Call the function: plainly, or through its primitive where something is traced.

        ``bind(call, operands, callee, const_count, out_tree)`` binds the primitive. The callee is a
        jaxpr, or an ``EagerCall`` where Python runs the function; ``out_tree`` is ``None`` then.
        """
        call = self.resolve(args, kwargs)
        if self.is_plain(call):
            return self.plain_call(call)
        if not self.is_shared and is_eager():
            eager = EagerCall(self.name, self._runner(call.form()), ir.context.trace)
            operands = list(call.leaves)
            # The rule applies to the values of references, as it would after their discharge.
            for i in call.differentiated_references():
                operands[i] = operands[i].read(shared=True)
            outs = bind(call, operands, eager, 0, None)
            assert eager.out_tree is not None
            return tree_unflatten(eager.out_tree, outs)
        jaxpr, out_tree = self.traced(call)
        operands = (*jaxpr.consts, *call.leaves)
        outs = bind(call, operands, ir.convert_constvars(jaxpr), len(jaxpr.consts), out_tree)
        return tree_unflatten(out_tree, outs)

    def _runner(self, call: Call) -> Callable[..., ir.PyTree]:
        """The function of the leaves of a call."""
        if not call.references:
            return lambda *flat: self.fun(*call.arguments(flat))

        def run(*flat: Any) -> ir.PyTree:
            leaves, arrays = call.with_references(flat)
            out = self.fun(*call.arguments(leaves))
            check_unwritten(leaves, arrays)
            return out

        return run

    def plain_call(self, call: Call) -> ir.PyTree:
        """Call the function while nothing is being traced."""
        return self.fun(*call.arguments(call.leaves))

    def is_plain(self, call: Call) -> bool:
        """Whether nothing is being traced, so that the function is called without a primitive."""
        return ir.context.trace is ir.eval_trace and not any(
            isinstance(x, ir.Tracer) for x in call.leaves
        )

    def traced(self, call: Call) -> tuple[ir.Jaxpr, PyTreeDef]:
        """The function's jaxpr, closed over its constants, and its output tree; cached by type."""
        avals = tuple(self.type_of_leaf(x, i, call) for i, x in enumerate(call.leaves))
        if not self.is_shared:
            return self._trace(call, avals)
        key = (call.tree, avals, _static_key(call.static), ir.trace_context())
        cache = ir.active_cache(self._jaxprs)
        try:
            traced = cache.recall(key)
        except TypeError:
            # A static argument without a hash: the function is traced for every call.
            traced = key = None
        if traced is None:
            traced = self._trace(call, avals)
            # Tracers in the jaxpr end with their trace; it must not be found by a later call.
            if key is not None and not ir.closes_over_tracers(traced[0]):
                traced = cache.add(key, traced)
        return traced

    def type_of_leaf(self, x: object, i: int, call: Call) -> ir.AbstractValue:
        """The type of leaf ``i`` of the arguments.

        Raises:
          TypeError: if it is not an array; the message names the argument.
        """
        try:
            return ir.get_aval(x)
        except TypeError as error:
            raise TypeError(f"{self.name}: argument {call.paths()[i]}: {error}") from None

    def _trace(self, call: Call, avals: tuple) -> tuple[ir.Jaxpr, PyTreeDef]:
        out_tree: Any = None

        def flat_fun(*flat: ir.Array) -> list[Any]:
            nonlocal out_tree
            leaves, out_tree = tree_flatten(self.fun(*call.arguments(flat)))
            return leaves

        jaxpr = ir.trace_to_jaxpr(flat_fun, avals, ir.DebugInfo(type(self).__name__, self.name))
        return jaxpr, out_tree


def _static_key(static: tuple) -> tuple:
    # With types, since 1, 1.0 and True are equal.
    return tuple((i, type(value), value) for i, value in static)

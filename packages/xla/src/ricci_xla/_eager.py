"""The backend: primitives evaluated on arrays, each compiled once for its parameters and types."""

from typing import Any

import numpy as np

from ricci_ir import (
    Jaxpr,
    Primitive,
    Tracer,
    clear_single_equations,
    equation_program,
    get_aval,
    leaked_tracer,
    program_rules,
    register_array_type,
    set_backend,
    single_equation,
)
from ricci_pytree import tree_structure

from ._array import ArrayImpl
from ._compiled import Options, compile_program
from ._dispatch import clear_caches as clear_dispatch
from ._dispatch import make_fast_callable
from ._placement import array_from_host
from ._program import Program, programs

_leaf = tree_structure(0)


def _list_tree(count: int) -> Any:
    return tree_structure([0] * count)


class XlaBackend:
    """Evaluates primitives through jaxlib's dispatcher."""

    name = "xla"

    def __init__(self):
        self._callables: dict[Any, Any] = {}

    def evaluate(self, primitive: Primitive, args: tuple, params: dict[str, Any]) -> Any:
        """Apply a primitive to arrays, NumPy arrays or scalars."""
        try:
            function = self._callables.get((primitive, *params.items()) if params else primitive)
        except TypeError:  # a parameter that cannot be hashed: compiled anew
            function = _primitive_callable(primitive, params)
        if function is None:
            function = self._make(primitive, params)
        return function(*args)

    def _make(self, primitive: Primitive, params: dict[str, Any]) -> Any:
        rule = program_rules.get(primitive)
        if rule is not None:
            jaxpr, name = rule(**params)
            return jaxpr.derived("callable", lambda: _jaxpr_callable(jaxpr, name))
        function = _primitive_callable(primitive, params)
        self._callables[(primitive, *params.items()) if params else primitive] = function
        return function

    def array(self, value: Any, aval: Any) -> Any:
        """An array with a NumPy array's values on the default device."""
        return array_from_host(np.asarray(value), aval)

    def clear(self) -> None:
        """Forget the compiled primitives."""
        self._callables.clear()


def _primitive_callable(primitive: Primitive, params: dict[str, Any]) -> Any:
    def on_miss(*args: Any) -> tuple[Any, Any]:
        _check_concrete(args, primitive)
        avals = tuple(get_aval(x) for x in args)
        jaxpr = single_equation(primitive, avals, params)
        if jaxpr is None:
            jaxpr = equation_program(primitive, avals, params)
        many = primitive.multiple_results
        tree = _list_tree(len(jaxpr.outvars)) if many else _leaf
        outs, fast = _run(jaxpr, primitive.name, tree, args)
        return (outs if many else outs[0]), fast

    return make_fast_callable(primitive.name, on_miss)


def _jaxpr_callable(jaxpr: Jaxpr, name: str) -> Any:
    tree = _list_tree(len(jaxpr.outvars))

    def on_miss(*args: Any) -> tuple[Any, Any]:
        _check_concrete(args, None)
        return _run(jaxpr, name, tree, args)

    return make_fast_callable(name, on_miss)


def _run(jaxpr: Jaxpr, name: str, out_tree: Any, args: tuple) -> tuple[list[Any], Any]:
    program = jaxpr.derived(("program", name), lambda: Program(jaxpr, None, out_tree, name))
    return compile_program(program, args, Options()).call(args)


def _check_concrete(args: tuple, primitive: Primitive | None) -> None:
    for x in args:
        if isinstance(x, Tracer):
            raise leaked_tracer(x, primitive)


xla_backend = XlaBackend()
set_backend(xla_backend)
register_array_type(ArrayImpl)


def clear_caches() -> None:
    """Forget all traced and compiled programs; they are made again when needed."""
    programs.clear()
    xla_backend.clear()
    clear_single_equations()
    clear_dispatch()

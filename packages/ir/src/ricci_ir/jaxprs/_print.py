"""Printing jaxprs in the notation ``{ lambda consts ; arguments. let equations in (results) }``."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ricci_ir._records import TupleRecord
from ricci_ir.types._abstract_value import AbstractValue

from ._document import (
    Break,
    Comment,
    Document,
    Group,
    Nest,
    Styled,
    fill,
    hard_line,
    joined,
    layout,
)
from ._jaxpr import Atom, DropVar, Jaxpr, JaxprEqn, Literal, Var, equations_printer, jaxpr_printer
from ._notation import Titled, notation_rules, shown_rules
from ._staged_call import staged_call

_LETTERS = "abcdefghijklmnopqrstuvwxyz"

_bold_blue = ("\x1b[34;1m", "\x1b[39;22m")
_magenta = ("\x1b[35m", "\x1b[39m")
_lambda = Styled("lambda ", *_bold_blue)
_let = Styled("let", *_bold_blue)
_in = Styled("in ", *_bold_blue)
_address = r" at 0x[0-9a-f]+"


class _Options(TupleRecord):
    """The options of ``pretty_print``."""

    source_info: bool = False
    print_shapes: bool = True
    custom_rules: bool = True
    name_stack: bool = False
    print_effects: bool = False


def variable_name(number: int) -> str:
    """The name of variable ``number``, counted from 0: a, b, ..., z, ba, bb, ...

    Example:
      >>> from ricci_ir.jaxprs._print import variable_name
      >>> [variable_name(n) for n in (0, 25, 26, 27, 52)]
      ['a', 'z', 'ba', 'bb', 'ca']
    """
    name = _LETTERS[number % 26]
    while number >= 26:
        number //= 26
        name = _LETTERS[number % 26] + name
    return name


class _Printer:
    """The state of one printed text: the variables' names, and the jaxprs that are hoisted.

    A jaxpr is hoisted if it is long or occurs several times: it is printed once, before the text,
    and referred to by a name.
    """

    def __init__(self, options: _Options):
        self.options = options
        self.names: dict[int, str] = {}
        self.count = 0
        self.hoisted: dict[int, str] = {}
        self.unread: frozenset[int] = frozenset()
        self.reserved: set[str] = set()

    def name(self, var: Var) -> str:
        name = self.names.get(id(var))
        if name is None:
            name = self.names[id(var)] = "_" if id(var) in self.unread else self.new_name()
        return name

    def new_name(self) -> str:
        while True:
            name = variable_name(self.count)
            self.count += 1
            if name not in self.reserved:
                return name

    def binder(self, var: Var) -> Document:
        name = self.name(var)
        if not self.options.print_shapes:
            return name
        return [name, Styled(f":{_short(var.aval)}", *_magenta)]

    def atom(self, atom: Atom) -> str:
        return _literal_text(atom) if isinstance(atom, Literal) else self.name(atom)

    def program(self, jaxpr: Jaxpr) -> Document:
        """The hoisted jaxprs, each with a name, followed by the jaxpr."""
        self.unread = _unread(jaxpr.eqns, jaxpr.outvars)
        shared = _shared_programs(jaxpr, self.options.custom_rules)
        for program, name in shared:
            self.hoisted[id(program)] = self.unique(name)
        lines: list[Document] = []
        for program, _ in shared:
            lines += [f"let {self.hoisted[id(program)]} = ", self.jaxpr(program), " in", hard_line]
        return [*lines, self.jaxpr(jaxpr)]

    def unique(self, name: str) -> str:
        candidate = name
        number = 0
        while candidate in self.reserved:
            number += 1
            candidate = f"{name}{number}"
        self.reserved.add(candidate)
        return candidate

    def jaxpr(self, jaxpr: Jaxpr) -> Document:
        constants = [self.binder(v) for v in jaxpr.constvars]
        arguments = [self.binder(v) for v in jaxpr.invars]
        equations = [self.equation(eqn) for eqn in jaxpr.eqns]
        results = fill((self.atom(a) for a in jaxpr.outvars), ",")
        if len(jaxpr.outvars) == 1:
            results.append(",")
        effects = ""
        if self.options.print_effects:
            names = ", ".join(sorted(str(e) for e in jaxpr.effects))
            effects = f" : {{ {names} }}"
        return Group(
            [
                "{ ",
                _lambda,
                Nest(4, fill(constants)),
                "; ",
                Nest(4, fill(arguments)),
                ". ",
                _let,
                Nest(4, [Break(), *joined(equations, "; ")]),
                Nest(2, [Break(), _in, "(", Nest(2, results), ")", effects]),
                " }",
            ]
        )

    def equation(self, eqn: JaxprEqn) -> Document:
        params: Any = eqn.params
        name = eqn.primitive.name
        if self.options.custom_rules and eqn.primitive in notation_rules:
            text = notation_rules[eqn.primitive](eqn, self.binder, self.atom)
            return [*self.comments(eqn), *text]
        binders: list[Document] | None = None
        shares = self.options.custom_rules and self.is_shared_call(eqn)
        if shares:
            self.share_names(eqn)
        else:
            binders = [self.binder(v) for v in eqn.outvars]
        if self.options.custom_rules and eqn.primitive in shown_rules:
            params = shown_rules[eqn.primitive](**params)
            if type(params) is Titled:
                name, params = params.name, params.params
        shown = self.params(params)
        if binders is None:
            binders = [self.binder(v) for v in eqn.outvars]
        head: list[Document] = [Nest(2, fill(binders)), " = "] if binders else []
        parts: list[Document] = [*head, *self.comments(eqn), name]
        if shown:
            parts.append(Group(["[", Nest(2, [Break(""), *joined(shown)]), Break(""), "]"]))
        return [*parts, " ", Nest(2, fill(self.atom(a) for a in eqn.invars))]

    def comments(self, eqn: JaxprEqn) -> Iterator[Document]:
        if self.options.source_info:
            yield Comment(str(eqn.source))
        if self.options.name_stack:
            yield Comment(f"[{'/'.join(eqn.source.name_stack)}]")

    def params(self, params: dict[str, Any] | list[tuple[str, Any]]) -> list[Document]:
        if isinstance(params, dict):
            params = sorted(params.items(), key=lambda pair: (pair[0] != "name", pair[0]))
        return [[f"{key}=", self.param(value)] for key, value in params]

    def param(self, value: object) -> Document:
        if isinstance(value, Jaxpr):
            return self.hoisted.get(id(value)) or self.jaxpr(value)
        if type(value) is tuple and value and all(isinstance(v, Jaxpr) for v in value):
            inner = joined([self.param(v) for v in value])
            return Group(["(", Nest(2, [Break(""), *inner]), Break(""), ")"])
        if isinstance(value, frozenset):
            return f"frozenset({{{', '.join(sorted(map(repr, value)))}}})"
        return re.sub(_address, " at 0xXXXXXXXXXXXX", str(value))

    def is_shared_call(self, eqn: JaxprEqn) -> bool:
        """Whether an equation prints its jaxpr inline, with the names of the outer variables."""
        return eqn.primitive is staged_call.call and id(eqn.params.get("jaxpr")) not in self.hoisted

    def share_names(self, eqn: JaxprEqn) -> None:
        """Name the arguments and results of a called jaxpr like the equation's variables."""
        # The zips are not strict, so that a malformed equation can be printed as well.
        jaxpr: Jaxpr = eqn.params["jaxpr"]
        shared: set[str] = set()
        for inner, outer in zip(jaxpr.invars, eqn.invars, strict=False):
            if type(outer) is not Literal and id(inner) not in self.names:
                name = self.name(outer)  # pyright: ignore[reportArgumentType]
                if name not in shared:
                    shared.add(name)
                    self.names[id(inner)] = name
        inputs = {id(v) for v in (*jaxpr.constvars, *jaxpr.invars)}
        for inner, outer in zip(jaxpr.outvars, eqn.outvars, strict=False):
            if type(inner) is not Literal and id(inner) not in self.names:
                if id(inner) not in inputs:
                    self.names[id(inner)] = self.name(outer)


def _unread(eqns: Sequence[JaxprEqn], outvars: Sequence[Atom]) -> frozenset[int]:
    """The results of equations that are printed as ``_``; those of inner jaxprs have names."""
    read = {id(atom) for eqn in eqns for atom in eqn.invars}.union(map(id, outvars))
    return frozenset(id(v) for eqn in eqns for v in eqn.outvars if id(v) not in read)


def _short(aval: AbstractValue) -> str:
    return aval.str_short(short_dtypes=True)


def _literal_text(literal: Literal) -> str:
    """A literal as a printed equation shows it, such as ``1.0:f32[]``."""
    value = literal.val
    if isinstance(value, np.generic | np.ndarray):
        value = np.asarray(value, literal.aval.dtype).item()
    return f"{value}:{_short(literal.aval)}"


def _programs(jaxpr: Jaxpr, custom_rules: bool) -> Iterator[tuple[Jaxpr, str]]:
    """The jaxprs in the parameters that a jaxpr's equations show, each with a name for it."""
    for eqn in jaxpr.eqns:
        name = eqn.params.get("name")
        name = name.strip("<>") if isinstance(name, str) else "jaxpr"
        rule = shown_rules.get(eqn.primitive) if custom_rules else None
        shown = eqn.params if rule is None else rule(**eqn.params)
        values = shown if isinstance(shown, dict) else eqn.params
        for value in values.values():
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, Jaxpr):
                    yield item, name


_MOST_INLINE = 10  # jaxprs of more equations are hoisted


def _shared_programs(jaxpr: Jaxpr, custom_rules: bool) -> list[tuple[Jaxpr, str]]:
    """The jaxprs to hoist, outermost first: those that occur more than once, and long ones."""
    queue = [jaxpr]
    programs: dict[int, tuple[Jaxpr, str]] = {}
    inner: dict[int, list[Jaxpr]] = {}
    repeated: list[Jaxpr] = []
    for program in queue:
        inside = inner[id(program)] = []
        for part, name in _programs(program, custom_rules):
            inside.append(part)
            if id(part) in programs:
                repeated.append(part)
            else:
                programs[id(part)] = (part, name)
                queue.append(part)
    # The jaxprs inside a repeated jaxpr are repeated with it.
    shared: set[int] = set()
    while repeated:
        program = repeated.pop()
        if id(program) not in shared:
            shared.add(id(program))
            repeated.extend(inner[id(program)])
    return [
        entry
        for key, entry in programs.items()
        if key in shared or len(entry[0].eqns) > _MOST_INLINE
    ]


def print_jaxpr(
    jaxpr: Jaxpr, options: dict[str, Any], *, use_color: bool = False, width: int = 80
) -> str:
    """The text of a jaxpr."""
    return layout(_Printer(_Options(**options)).program(jaxpr), width, use_color)


def print_equations(eqns: Sequence[JaxprEqn]) -> str:
    """The text of some equations, with variables named from ``a`` on."""
    names = _Printer(_Options())
    names.unread = frozenset(id(v) for eqn in eqns for v in eqn.outvars if type(v) is DropVar)
    return layout(joined([names.equation(eqn) for eqn in eqns]))


class Names:
    """The names of variables in the text of a jaxpr, for messages about its equations."""

    __slots__ = ("printed", "text")

    def __init__(self, jaxpr: Jaxpr):
        self.printed = _Printer(_Options())
        self.text = layout(self.printed.program(jaxpr))

    def of(self, var: Var) -> str:
        """A variable's name."""
        return self.printed.name(var)

    def equation(self, eqn: JaxprEqn) -> str:
        """An equation as it appears in the text."""
        return layout(self.printed.equation(eqn))


jaxpr_printer.provide(print_jaxpr)
equations_printer.provide(print_equations)

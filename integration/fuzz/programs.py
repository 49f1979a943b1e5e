"""A random program as data, and as a piece of text that either side evaluates."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .rows import Type


@dataclass(frozen=True, slots=True)
class Value:
    """A variable of a program."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Function:
    """A function with a name, nested in a program or the program itself."""

    name: str
    parameters: tuple[Value, ...]
    statements: tuple["Statement", ...]
    results: tuple[Value, ...]

    def lines(self, indent: str = "") -> Iterator[str]:
        yield f"{indent}def {self.name}({', '.join(p.name for p in self.parameters)}):"
        for statement in self.statements:
            yield from statement.lines(indent + "    ")
        results = ", ".join(result.name for result in self.results)
        single = len(self.results) == 1 and self.name != "program"
        yield f"{indent}    return {results if single else f'({results},)' if results else '()'}"

    def used(self) -> set[str]:
        """The names of variables that it uses, its own ones too."""
        names = {value.name for value in self.results}
        for statement in self.statements:
            names |= statement.used()
        return names


@dataclass(frozen=True, slots=True)
class Statement:
    """One operation: `template` with its operands and functions."""

    results: tuple[Value, ...]
    template: str
    operands: tuple[Value, ...]
    functions: tuple[Function, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)  # what else stands in the template
    tags: frozenset[str] = frozenset()

    def lines(self, indent: str) -> Iterator[str]:
        for function in self.functions:
            yield from function.lines(indent)
        functions = {f"f{i}": function.name for i, function in enumerate(self.functions)}
        call = self.template.format(*(o.name for o in self.operands), **functions, **self.names)
        yield f"{indent}{', '.join(result.name for result in self.results)} = {call}"

    def used(self) -> set[str]:
        found = {operand.name for operand in self.operands}
        for function in self.functions:
            found |= function.used()
        return found


@dataclass(frozen=True, slots=True)
class Form:
    """A transformation that a program is under; `axes` are those of a `vmap`, by parameter."""

    name: str
    axes: Mapping[str, int | None] = field(default_factory=dict)
    out: int = 0

    def around(self, text: str, parameters: tuple[Value, ...]) -> str:
        if self.name != "vmap":
            return f"{self.name}({text})"
        axes = ", ".join(str(self.axes[parameter.name]) for parameter in parameters)
        return f"vmap({text}, ({axes},), {self.out})"


@dataclass(frozen=True, slots=True)
class Program:
    """A program with its arguments, the transformations around it, and how it is evaluated.

    Attributes:
        seed: what it was made from.
        function: the program itself.
        arguments: the texts of the arguments.
        forms: the transformations, the outermost first.
        wide: whether 64-bit types are enabled.
        eager_first: whether it is evaluated as it stands before it is transformed, or after.
    """

    seed: str
    function: Function
    arguments: tuple[str, ...]
    forms: tuple[Form, ...]
    wide: bool
    eager_first: bool

    @property
    def form(self) -> str:
        """The text of the transformed function."""
        text = "program"
        for form in reversed(self.forms):
            text = form.around(text, self.function.parameters)
        return text

    @property
    def narrowest(self) -> str:
        """The dtype whose roundings decide how close results can be."""
        text = self.text()
        names = ("bfloat16", "float16", "float32")
        return next((name for name in names if f"'{name}'" in text), "float32")

    def text(self) -> str:
        """The program and its arguments, without the prelude."""
        head, *body = self.function.lines()
        pairs = zip(self.function.parameters, self.arguments, strict=True)
        names = [value.name for value, text in pairs if not text.startswith(("jnp.", "random."))]
        made = [f"    {name} = jnp.asarray({name})" for name in names]
        return "\n".join([head, *made, *body, f"args = ({', '.join(self.arguments)},)"])

    def __str__(self) -> str:
        order = "eagerly first" if self.eager_first else "transformed first"
        return f"# seed {self.seed}, x64 {self.wide}, {order}\n{self.text()}\n{self.form}(*args)"

    def size(self) -> int:
        """The number of operations, those of nested functions too."""
        return _size(self.function)


def _size(function: Function) -> int:
    nested = (f for statement in function.statements for f in statement.functions)
    return len(function.statements) + sum(map(_size, nested))

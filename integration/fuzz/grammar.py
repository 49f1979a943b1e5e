"""Makes random programs: operations drawn from the tables, with operands of the right types."""

import math
from random import Random

import numpy as np

from .operations import ROWS
from .programs import Form, Function, Program, Statement, Value
from .rows import Binding, Row, Signature, Type

FLOATS = ("float32",) * 6 + ("bfloat16", "float16")
WIDE_FLOATS = ("float64",) * 4 + ("float32",) * 2 + ("bfloat16",)
INTEGERS = ("int32",) * 4 + ("uint8", "int8", "uint32", "int64")
SHAPES = ((),) * 3 + ((3,),) * 4 + ((2, 3),) * 3 + (
    (2,), (3, 3), (3, 3), (1,), (0,), (0, 3), (3, 1), (1, 3), (2, 2), (2, 3, 2))  # fmt: skip
KINDS = "fffffiibbck"
FORMS = (
    *("jit", "vmap", "grad", "jvp", "linearize", "jacfwd", "jacrev", "checkpoint"),
    *("scanned", "branched", "sharded", "exported"),
)
REVERSE = {"grad", "jacrev"}
FORWARD = {"jvp", "jacfwd"}
DEVICES = {"devices", "global"}  # what the program of one device does not contain


def program(seed: str, wide: bool | None = None, operations: tuple[int, int] = (8, 20)) -> Program:
    """Make the program of a seed, always the same one.

    Args:
        seed: any text.
        wide: whether 64-bit types are enabled; drawn where not given.
        operations: the least and the greatest number of operations, without those of nested
            functions, which are about as many again.
    """
    return _Maker(seed, wide).program(operations)


class _Maker:
    """Draws one program; counts the names that it has given."""

    def __init__(self, seed: str, wide: bool | None) -> None:
        self.random = Random(f"fuzz {seed}")
        self.seed = seed
        drawn = self.random.random() < 0.5
        self.wide = drawn if wide is None else wide
        self.count = 0
        self.refused: set[str] = set()
        self.on_devices = False  # within what a device computes

    def program(self, operations: tuple[int, int]) -> Program:
        forms = self.forms()
        # Now and then the error is wanted: forward mode of a custom_vjp, reverse mode of a while.
        if self.random.random() > 0.03:
            self.refused = {"forward"} if REVERSE & set(forms) else set()
            self.refused |= {"reverse"} if FORWARD & set(forms) or "linearize" in forms else set()
        self.on_devices = bool({"sharded", "exported"} & set(forms))
        arguments = [self.argument(Type("f", self.random.choice(((3,), (2, 3)))))]
        for _ in range(self.random.randint(1, 4)):
            kind = self.random.choice(KINDS)
            shape = () if kind == "k" else self.random.choice(SHAPES)
            arguments.append(self.argument(Type(kind, shape)))
        parameters = tuple(value for value, _ in arguments)
        statements = self.statements(list(parameters), self.random.randint(*operations), 0)
        used = set().union(*(statement.used() for statement in statements))
        made = [value for statement in statements for value in statement.results]
        results = [value for value in made if value.name not in used]
        others = [value for value in made if value.name in used]
        results += self.random.sample(others, min(2, len(others)))
        function = Function("program", parameters, tuple(statements), tuple(results))
        return Program(
            self.seed,
            function,
            tuple(text for _, text in arguments),
            tuple(self.form(name, arguments) for name in forms),
            self.wide,
            self.random.random() < 0.5,
        )

    def forms(self) -> list[str]:
        count = self.random.choice((0, 1, 1, 1, 2, 2, 2, 3))
        drawn = [self.random.choice(FORMS[:4] * 3 + FORMS) for _ in range(count)]
        # An exported function has no derivative in forward mode.
        pushed = {"linearize", *FORWARD} & set(drawn)
        return ["jit" if form == "exported" and pushed else form for form in drawn]

    def form(self, name: str, arguments: list[tuple[Value, str]]) -> Form:
        if name != "vmap":
            return Form(name)
        axes: dict[str, int | None] = {}
        for value, text in arguments:
            rank = len(value.type.shape)
            choices = [0, 0, -1, None, self.random.randint(0, rank)]
            is_python = text[0] not in "jnr"
            axes[value.name] = None if is_python else self.random.choice(choices)
        if all(axis is None for axis in axes.values()):
            axes[arguments[0][0].name] = 0
        return Form("vmap", axes, self.random.choice((0, 0, -1)))

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def argument(self, type: Type) -> tuple[Value, str]:
        value = Value(self.name("x"), type)
        if type.kind == "k":
            return value, f"random.key({self.random.randint(0, 99)})"
        size = math.prod(type.shape)
        numbers = [self.number(type.kind) for _ in range(size)]
        if type.shape == () and self.random.random() < 0.6:
            text = repr(numbers[0])
            is_python = self.random.random() < 0.5
            return value, text if is_python else f"jnp.asarray({text})"
        shown = str(np.array(numbers, object).reshape(type.shape).tolist())
        if 0 in type.shape:
            shown = f"np.zeros({type.shape})"
        library = self.random.choice(("jnp", "jnp", "jnp", "np"))
        dtype = self.dtype(type.kind)
        if library == "np" and dtype == "bfloat16":
            library = "jnp"
        return value, f"{library}.array({shown}, '{dtype}')"

    def number(self, kind: str) -> object:
        match kind:
            case "f":
                return round(self.random.uniform(-2, 2), 2)
            case "i":
                return self.random.randint(0, 6)
            case "b":
                return self.random.random() < 0.5
        return complex(round(self.random.uniform(-2, 2), 2), round(self.random.uniform(-2, 2), 2))

    def dtype(self, kind: str) -> str:
        match kind:
            case "f":
                return self.random.choice(WIDE_FLOATS if self.wide else FLOATS)
            case "i":
                return self.random.choice(INTEGERS)
            case "b":
                return "bool"
        return "complex128" if self.wide and self.random.random() < 0.5 else "complex64"

    def statements(self, scope: list[Value], count: int, depth: int) -> list[Statement]:
        """Draw so many operations; their results join the scope."""
        found: list[Statement] = []
        for _ in range(count):
            statement = self.statement(scope, depth)
            if statement is not None:
                found.append(statement)
                scope += statement.results
        return found

    def statement(self, scope: list[Value], depth: int) -> Statement | None:
        families = list(ROWS)
        for _ in range(60):
            row = self.random.choice(ROWS[self.random.choice(families)])
            refused = self.refused | (DEVICES if self.on_devices else set())
            if row.tags & refused or (row.signature.functions and depth >= 2):
                continue
            found = self.operands(row, scope)
            if found is None:
                continue
            operands, binding = found
            results = [pattern.type(binding) for pattern in row.signature.results]
            if any(type is None for type in results):
                continue
            functions = []
            for signature in row.signature.functions:
                outside = [] if "closed" in row.tags and self.random.random() < 0.95 else scope
                before = self.on_devices
                self.on_devices = before or "devices" in row.tags
                functions.append(self.function(signature, binding, outside, depth + 1))
                self.on_devices = before
            if None in functions:
                continue
            values = tuple(Value(self.name("v"), type) for type in results if type)
            made = tuple(function for function in functions if function)
            return Statement(values, row.text, operands, made, self.names(binding), row.tags)
        return None

    def operands(self, row: Row, scope: list[Value]) -> tuple[tuple[Value, ...], Binding] | None:
        binding: Binding = {}
        chosen: list[Value] = []
        for pattern in row.signature.operands:
            fitting = [
                (value, found)
                for value in scope
                if (found := pattern.match(value.type, binding)) is not None
            ]
            if not fitting:
                return None
            # Those made last are likelier, so that programs are deep.
            position = int(len(fitting) * self.random.random() ** 0.6)
            value, binding = fitting[position]
            chosen.append(value)
        return tuple(chosen), binding

    def function(
        self, signature: Signature, binding: Binding, outside: list[Value], depth: int
    ) -> Function | None:
        types = [pattern.type(binding) for pattern in signature.operands]
        wanted = [pattern.type(binding) for pattern in signature.results]
        if None in types or None in wanted:
            return None
        parameters = tuple(Value(self.name("p"), type) for type in types if type)
        scope = [*outside, *parameters] if self.random.random() < 0.5 else list(parameters)
        statements = self.statements(scope, self.random.choice((1, 1, 2, 3)), depth)
        made = [value for statement in statements for value in statement.results]
        results = []
        for type in wanted:
            assert type is not None
            value = self.wanted(type, made, parameters, statements)
            results.append(value)
        return Function(self.name("f"), parameters, tuple(statements), tuple(results))

    def wanted(
        self,
        type: Type,
        made: list[Value],
        parameters: tuple[Value, ...],
        statements: list[Statement],
    ) -> Value:
        """Return a value of the type, made of what a function has."""
        fitting = [value for value in made if value.type == type]
        if fitting:
            return fitting[-1]
        value = Value(self.name("v"), type)
        near = [v for v in [*reversed(made), *parameters] if v.type.kind == type.kind]
        same = [v for v in near if v.type.shape == type.shape]
        if same and type.kind == "f":
            template, operands = "{0} * 0.5 + jnp.sum({1}) * 0.1", (same[-1], near[0])
        elif same:
            template, operands = "{0}", (same[-1],)
        elif near and type.kind in "fc":
            template, operands = f"jnp.full({type.shape}, jnp.sum({{0}}) * 0.1)", (near[0],)
        else:
            constant = {"f": "0.5", "i": "2", "b": "True", "c": "0.5j"}.get(type.kind)
            template = f"jnp.full({type.shape}, {constant})"
            if constant is None:
                template = f"random.split(random.key(1), {type.shape})"
            operands = ()
        statements.append(Statement((value,), template, operands))
        return value

    def names(self, binding: Binding) -> dict[str, str]:
        shown = {name: repr(bound) for name, bound in binding.items() if len(name) == 1}
        return shown | {
            "d": self.dtype("f"),
            "e": self.dtype("i"),
            "c": self.random.choice(("0.5", "0.25", "0.7", "-0.6", "1.2")),
        }

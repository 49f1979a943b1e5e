"""Makes a program that disagrees smaller, as long as it disagrees in the same way."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from .agreement import Disagreement, disagreements
from .programs import Function, Program, Statement, Value

Judge = Callable[[Sequence[Program]], list[Disagreement | None]]

TRIES = 12  # smaller programs that are tried at once; the first that disagrees is gone on with


def reduced(found: Disagreement, limit: int = 400, judge: Judge = disagreements) -> Disagreement:
    """Return a small program with the same kind of disagreement.

    Args:
        found: the disagreement to begin with.
        limit: how many programs are tried.
        judge: tells which of several programs disagree, and in what.
    """
    tried: set[str] = set()
    while True:
        candidates = (p for p in smaller(found.program) if str(p) not in tried)
        for group in _groups(candidates):
            limit -= len(group)
            tried.update(map(str, group))
            outcomes = judge(group)
            better = next((x for x in outcomes if x and _alike(x, found)), None)
            if better:
                found = better
                break
            if limit <= 0:
                return found
        else:
            return found


def _groups(programs: Iterator[Program]) -> Iterator[list[Program]]:
    group: list[Program] = []
    for program in programs:
        group.append(program)
        if len(group) == TRIES:
            yield group
            group = []
    if group:
        yield group


def _alike(one: Disagreement, other: Disagreement) -> bool:
    if one.kind != other.kind:
        return False
    if one.kind != "outcome":
        return True
    return [line.split(": ")[:2] for line in one.text.splitlines()[:1]] == [
        line.split(": ")[:2] for line in other.text.splitlines()[:1]
    ]


def smaller(program: Program) -> Iterator[Program]:
    """Programs with a result, a transformation or an operation less."""
    function = program.function
    for result in function.results if len(function.results) > 1 else ():
        yield _pruned(replace(program, function=replace(function, results=(result,))))
    for result in function.results if len(function.results) > 1 else ():
        rest = tuple(r for r in function.results if r != result)
        yield _pruned(replace(program, function=replace(function, results=rest)))
    for i in range(len(program.forms)):
        yield replace(program, forms=program.forms[:i] + program.forms[i + 1 :])
    for i, form in enumerate(program.forms):
        for name, axis in form.axes.items():
            if axis is not None and sum(a is not None for a in form.axes.values()) > 1:
                fewer = replace(form, axes={**form.axes, name: None})
                yield replace(program, forms=(*program.forms[:i], fewer, *program.forms[i + 1 :]))
    for other in _smaller_functions(function):
        yield _pruned(replace(program, function=other))
    # The operands of the last operations as results instead of those.
    for statement in function.statements:
        if set(statement.results) & set(function.results):
            kept = [r for r in function.results if r not in statement.results]
            results = tuple(dict.fromkeys([*kept, *statement.operands]))
            yield _pruned(replace(program, function=replace(function, results=results)))
    if not program.eager_first:
        yield replace(program, eager_first=True)
    if program.wide:
        yield replace(program, wide=False)


def _smaller_functions(function: Function) -> Iterator[Function]:
    """Functions without one of the operations, which an earlier value of its type replaces."""
    scope = list(function.parameters)
    for i, statement in enumerate(function.statements):
        others = {value.type: value for value in scope}
        if all(result.type in others for result in statement.results):
            instead = {result.name: others[result.type] for result in statement.results}
            rest = tuple(_renamed(s, instead) for s in function.statements[i + 1 :])
            results = tuple(instead.get(r.name, r) for r in function.results)
            yield replace(function, statements=function.statements[:i] + rest, results=results)
        elif not (statement.template.startswith("jnp.full(") and not statement.operands):
            constant = _constant(statement)
            if constant:
                yield _with(function, i, constant)
        scope += statement.results
    for i, statement in enumerate(function.statements):
        for j, nested in enumerate(statement.functions):
            for other in _smaller_functions(nested):
                kept = _live(other)
                functions = (*statement.functions[:j], kept, *statement.functions[j + 1 :])
                yield _with(function, i, replace(statement, functions=functions))


def _constant(statement: Statement) -> Statement | None:
    """A full array instead of a result of a float or integer operation."""
    if len(statement.results) != 1:
        return None
    type = statement.results[0].type
    constant = {"f": "0.5", "i": "2", "b": "True"}.get(type.kind)
    if constant is None:
        return None
    return Statement(statement.results, f"jnp.full({type.shape}, {constant})", ())


def _with(function: Function, i: int, statement: Statement) -> Function:
    statements = (*function.statements[:i], statement, *function.statements[i + 1 :])
    return replace(function, statements=statements)


def _renamed(statement: Statement, instead: dict[str, Value]) -> Statement:
    operands = tuple(instead.get(o.name, o) for o in statement.operands)
    functions = tuple(
        replace(
            f,
            statements=tuple(_renamed(s, instead) for s in f.statements),
            results=tuple(instead.get(r.name, r) for r in f.results),
        )
        for f in statement.functions
    )
    return replace(statement, operands=operands, functions=functions)


def _live(function: Function) -> Function:
    """The function without operations whose results nothing uses."""
    used = {result.name for result in function.results}
    kept: list[Statement] = []
    for statement in reversed(function.statements):
        if any(result.name in used for result in statement.results):
            kept.insert(0, statement)
            used |= statement.used()
    return replace(function, statements=tuple(kept))


def _pruned(program: Program) -> Program:
    """The program without operations and parameters that nothing uses."""
    function = _live(program.function)
    used = function.used()
    given = list(zip(function.parameters, program.arguments, strict=True))
    pairs = [pair for pair in given if pair[0].name in used]
    floats = [pair for pair in given if pair[0].type.kind == "f"]
    if not any(pair in pairs for pair in floats):
        pairs.insert(0, floats[0])  # the variable of the derivative
    function = replace(function, parameters=tuple(parameter for parameter, _ in pairs))
    names = {parameter.name for parameter, _ in pairs}
    forms = []
    for form in program.forms:
        axes = {name: axis for name, axis in form.axes.items() if name in names}
        if axes and all(axis is None for axis in axes.values()):
            axes[function.parameters[0].name] = 0
        forms.append(replace(form, axes=axes))
    arguments = tuple(text for _, text in pairs)
    return replace(program, function=function, arguments=arguments, forms=tuple(forms))

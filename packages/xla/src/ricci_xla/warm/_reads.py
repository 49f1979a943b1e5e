"""Static scan of bytecode for reads of global values and modules.

Reads of a module in a global variable are followed through the instructions' attribute names:
``module.sub.NAME``, also as ``getattr(module, "NAME")``. A module that code passes on otherwise may
have any attribute read whose name occurs in code that runs.
"""

from dis import Instruction, get_instructions
from functools import lru_cache
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from itertools import pairwise
from types import CodeType
from typing import NamedTuple

# Attributes that lead from a value to the variables of other code.
_INTROSPECTION = frozenset(
    "__globals__ __builtins__ __subclasses__ f_back f_builtins f_globals f_locals gi_frame "
    "cr_frame ag_frame tb_frame".split()
)
_ATTRIBUTE_LOADS = ("LOAD_ATTR", "LOAD_METHOD")


class Read(NamedTuple):
    """A read of a global name, and of attributes of its value.

    Attributes:
      name: the name.
      attributes: the chain of attributes that are read, each of the value before.
      is_called: whether the last value is called at once, and not passed on.
      reflector: the name of the function that reads the last attribute by its name, if any.
    """

    name: str
    attributes: tuple[str, ...]
    is_called: bool
    reflector: str | None = None


class Import(NamedTuple):
    """An import statement: the module's name as written, and the level of a relative import."""

    name: str
    level: int
    has_star: bool


class CodeReads(NamedTuple):
    """The reads of code, without those of functions and classes that are defined in it.

    Attributes:
      reads: its reads of global names.
      imports: its import statements.
      attributes: the names of all attributes that it reads, of whatever values.
      introspection: those attributes that lead to the variables of other code.
      constant_names: the offsets of calls that read an attribute by a constant name.
    """

    reads: tuple[Read, ...]
    imports: tuple[Import, ...]
    attributes: frozenset[str]
    introspection: frozenset[str]
    constant_names: frozenset[int]


@lru_cache(maxsize=8192)
def reads_of(code: CodeType) -> CodeReads:
    """Scan the instructions of code for reads."""
    # The argument of an instruction has the bits of its EXTENDED_ARG prefixes already.
    instructions = [i for i in get_instructions(code) if i.opname != "EXTENDED_ARG"]
    reads: dict[Read, None] = {}
    imports: list[Import] = []
    attributes: set[str] = set()
    constant_names: set[int] = set()
    for at, instruction in enumerate(instructions):
        match instruction.opname:
            case "LOAD_GLOBAL" | "LOAD_NAME" | "LOAD_FROM_DICT_OR_GLOBALS":
                read, end = _chain(instructions, at)
                if at and instructions[at - 1].argval in ("getattr", "hasattr"):
                    read, call = _constant_attribute(instructions, at, read, end)
                    constant_names.update(call)
                reads[read] = None
            case "IMPORT_NAME":
                # CPython loads the level and the names as constants right before IMPORT_NAME.
                level, names = (i.argval for i in instructions[at - 2 : at])
                imports.append(Import(instruction.argval, level, names == ("*",)))
            case "LOAD_ATTR" | "LOAD_METHOD" | "LOAD_SUPER_ATTR" | "IMPORT_FROM":
                attributes.add(instruction.argval)
            case _:
                pass
    # Such an attribute may also be read by its name, as by ``getattr``.
    texts = {const for const in code.co_consts if isinstance(const, str)}
    return CodeReads(
        tuple(reads),
        tuple(imports),
        frozenset(attributes),
        _INTROSPECTION & (attributes | texts),
        frozenset(constant_names),
    )


def _chain(instructions: list[Instruction], at: int) -> tuple[Read, int]:
    """Return the read that starts at an instruction, and the index after it."""
    end = at + 1
    while end < len(instructions) and instructions[end].opname in _ATTRIBUTE_LOADS:
        end += 1
    last = instructions[end - 1]
    # CPython pushes a NULL beside the function of a call: by PUSH_NULL, or by the lowest bit of a
    # load's argument.
    beside = instructions[max(at - 1, 0)], instructions[min(end, len(instructions) - 1)]
    is_called = any(i.opname == "PUSH_NULL" for i in beside)
    is_called |= any(
        i.opname != "LOAD_NAME" and bool((i.arg or 0) & 1) for i in (instructions[at], last)
    )
    attributes = tuple(i.argval for i in instructions[at + 1 : end])
    return Read(instructions[at].argval, attributes, is_called), end


def _constant_attribute(
    instructions: list[Instruction], at: int, read: Read, end: int
) -> tuple[Read, list[int]]:
    """Extend a read by the attribute of ``getattr(module, "NAME")``; return its call's offset."""
    name = instructions[end] if end < len(instructions) else None
    if name is not None and name.opname == "LOAD_CONST" and isinstance(name.argval, str):
        for after in instructions[end + 1 : end + 3]:  # perhaps past a default
            if after.opname == "CALL":
                attributes = (*read.attributes, name.argval)
                reflector = instructions[at - 1].argval
                return Read(read.name, attributes, False, reflector), [after.offset]
    return read, []


@lru_cache(maxsize=1024)
def returns_nothing(code: CodeType) -> bool:
    """Whether a function returns ``None`` always, so that its result depends on nothing."""
    if code.co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR):
        return False
    instructions = [i for i in get_instructions(code) if i.opname != "EXTENDED_ARG"]
    for before, instruction in pairwise(instructions):
        if instruction.opname == "RETURN_CONST":
            is_none = instruction.argval is None
        elif instruction.opname == "RETURN_VALUE":
            is_constant = before.opname == "LOAD_CONST" and not instruction.is_jump_target
            is_none = is_constant and before.argval is None
        else:
            continue
        if not is_none:
            return False
    return True

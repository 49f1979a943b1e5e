"""Find first lines, comments, error messages and names that do not use the field's terms.

    python tools/plain_words.py                  check code, tests and pages against `CEILINGS`
    python tools/plain_words.py packages/numpy   list what is found there

A docstring's first line begins with a verb or names the thing by the field's term: it is no
question ("What ...", "How ..."), and it says cached, sharded, dead or returned unchanged where that
is meant. A comment neither begins with such a clause nor says "is no X" or "what is ...". A
variable or parameter is a noun for what it holds. The rules were calibrated on eight code bases of
the field, where they flag fewer than 0.5 % of the docstrings.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

# But "is no longer", "are no slower than".
_COMPARED = "longer|shorter|slower|faster|larger|smaller|greater|wider|higher|lower|better|worse"
NO_NOUN = re.compile(
    rf"\b(?:is|are|be|was|were) no (?!(?:{_COMPARED}|more|less|such|need|one)\b)\w+"
)
WHAT_NOUN = re.compile(
    r"\bwhat (?:is|are|was|were|has|have|had|it|they|there|nobody|nothing|this)\b"
)
RULES = {
    "begins with a question word": re.compile(r"^(?:What|Where|How|Which|That|Who)\b"),
    "'is no X' for 'is not an X'": NO_NOUN,
    "'what is ...' for the thing's name": WHAT_NOUN,
    "'says' of code": re.compile(r"\b(?:says?|said|saying)\b"),
    "a word of our own for a term": re.compile(
        r"\b(?:kept|divided|anew|mend(?:ed|s)?|nobody|done later|stands? for|of its own"
        r"|hand(?:s|ed)? (?:back|on)|nothing of)\b"
    ),
}
# Clauses such as "Where x is negative, ..." may begin a comment, but not a docstring.
OPENER = re.compile(r"^#+:?\s*(?:What|How|Which|Who)\b")
VAGUE = frozenset(
    "answer found given held here kept known made own rest said taken wanted where whose".split()
)
# Parameters that the field calls so: NumPy's ``where``, and ``*rest`` of ``tree.map``.
PARAMETERS = VAGUE - {"rest", "where"}


class Ceiling(NamedTuple):
    """The numbers that a package may have of each; lower them when there are fewer.

    Attributes:
      docstrings: first lines that a rule flags.
      names: assigned names that are in `VAGUE`, and parameters in `PARAMETERS`.
      messages: strings, such as error messages, that say "is no X".
      comments: comments that begin with a question word, that say "is no X" or "what is ...", or
        that two rules flag in a line.
    """

    docstrings: int
    names: int
    messages: int
    comments: int


CEILINGS = {
    "autodiff": Ceiling(0, 1, 0, 0),
    "batching": Ceiling(0, 0, 0, 0),
    "buckets": Ceiling(0, 0, 0, 0),
    "check": Ceiling(0, 0, 0, 0),
    "compat": Ceiling(0, 0, 0, 0),
    "examples": Ceiling(0, 0, 0, 0),
    "export": Ceiling(0, 0, 0, 0),
    "ir": Ceiling(0, 0, 0, 0),
    "jax": Ceiling(0, 0, 0, 0),
    "kernels": Ceiling(0, 0, 0, 0),
    "lax": Ceiling(0, 0, 0, 0),
    "native": Ceiling(0, 0, 0, 0),
    "nn": Ceiling(0, 0, 0, 0),
    "numpy": Ceiling(0, 0, 0, 0),
    "parallel": Ceiling(0, 0, 0, 0),
    "pytree": Ceiling(0, 0, 0, 0),
    "random": Ceiling(0, 0, 0, 0),
    "reference": Ceiling(0, 0, 0, 0),
    "ricci": Ceiling(0, 0, 0, 0),
    "scipy": Ceiling(0, 0, 0, 0),
    "sparse": Ceiling(0, 0, 0, 0),
    "stablehlo": Ceiling(0, 0, 0, 0),
    "storage": Ceiling(0, 0, 0, 0),
    "testing": Ceiling(0, 0, 0, 0),
    "tests": Ceiling(9, 826, 16, 8),
    "tools": Ceiling(0, 1, 2, 0),
    "xla": Ceiling(0, 0, 0, 0),
}


class Place(NamedTuple):
    """A place that a rule flags.

    Attributes:
      kind: the field of `Ceiling` that counts it.
      line: its line.
      text: the flagged text.
      rules: the rules that flag it.
    """

    kind: str
    line: int
    text: str
    rules: tuple[str, ...]


def broken_rules(text: str) -> tuple[str, ...]:
    """Return the rules that flag a text.

    >>> broken_rules("What is kept of a program that is no jaxpr.")[0]
    'begins with a question word'
    >>> broken_rules("Return the cached jaxpr.")
    ()
    """
    return tuple(rule for rule, pattern in RULES.items() if pattern.search(text))


def flagged(source: str) -> Iterator[Place]:
    """Return the flagged places of a module.

    >>> [place.kind for place in flagged("def f():\\n    '''How it is.'''\\n    found = 1")]
    ['docstrings', 'names']
    """
    docstrings = set()  # the nodes of docstrings, which are visited after their owners
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Module() | ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
                first = (ast.get_docstring(node) or "").split("\n")[0]
                if first and isinstance(node.body[0], ast.Expr):
                    docstrings.add(node.body[0].value)
                if rules := broken_rules(first):
                    yield Place("docstrings", getattr(node, "lineno", 1), first, rules)
            case ast.Name(id=name, ctx=ast.Store()) if name in VAGUE:
                yield Place("names", node.lineno, name, ("a vague name",))
            case ast.arg(arg=name) if name in PARAMETERS:
                yield Place("names", node.lineno, name, ("a vague name",))
            case ast.Constant(value=str(text)) if node not in docstrings and no_noun(text):
                yield Place("messages", node.lineno, text, ("'is no X'",))
    for number, lines in comments(source):
        text = " ".join(line.lstrip("#: ") for line in lines)
        if rules := next((rules for line in lines if len(rules := broken_rules(line)) > 1), ()):
            yield Place("comments", number, text, rules)
        elif OPENER.match(lines[0]):
            yield Place("comments", number, text, ("begins with a question word",))
        elif match := WHAT_NOUN.search(text) or no_noun(text):
            yield Place("comments", number, text, (f"'{match[0]}'",))


def comments(source: str) -> Iterator[tuple[int, list[str]]]:
    """Return the comments of a module, each with the number of its first line.

    Lines that follow each other in a column are one comment; one behind code is another.

    >>> list(comments("x = 1  # one\\n# two\\n# lines\\n"))
    [(1, ['# one']), (2, ['# two', '# lines'])]
    """
    block: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        follows = block and block[-1].start == (token.start[0] - 1, token.start[1])
        if block and not (follows and block[-1].line.strip() == block[-1].string):
            yield block[0].start[0], [line.string for line in block]
            block = []
        block.append(token)
    if block:
        yield block[0].start[0], [line.string for line in block]


def no_noun(prose: str) -> re.Match[str] | None:
    """Return the first phrase that `NO_NOUN` finds, "there is" aside, or ``None``.

    >>> no_noun("There is no loop. A seed is no key.")[0]
    'is no key'
    """
    return next(no_nouns(prose), None)


def no_nouns(prose: str) -> Iterator[re.Match[str]]:
    """Return the phrases that `NO_NOUN` finds, "there is" aside."""
    for match in NO_NOUN.finditer(prose):
        if not prose[: match.start()].lower().endswith("there "):
            yield match


def places(folder: Path) -> Iterator[tuple[Path, Place]]:
    """Return the flagged places of a folder's sources, without those of tests inside of it."""
    for path in sorted(folder.rglob("*.py")):
        if "tests" in path.relative_to(folder).parts:
            continue
        for place in flagged(path.read_text(encoding="utf-8")):
            yield path, place


def groups() -> Iterator[tuple[str, list[Path]]]:
    """Return the folders that are counted together: packages, the tools, and all tests."""
    for folder in sorted(path.parent for path in ROOT.glob("packages/*/src")):
        yield folder.name, [folder]
    yield "tools", [ROOT / "tools"]
    tests = [*ROOT.glob("packages/*/tests"), ROOT / "tools" / "tests", ROOT / "integration"]
    yield "tests", sorted(tests)


def count(folders: Iterable[Path]) -> Ceiling:
    """Count the flagged places of folders by kind."""
    kinds = [place.kind for folder in folders for _, place in places(folder)]
    return Ceiling(*map(kinds.count, Ceiling._fields))


def page_problems(name: str, page: str) -> list[str]:
    """List the phrases in the prose of a page in Markdown that `NO_NOUN` finds, "there is" aside.

    >>> page_problems("a.md", "There is no loop.\\n```\\nx is no y\\n```\\nA seed is no key.")
    ["a.md:5: 'is no key'"]
    """
    prose = re.sub(r"^```.*?^```", lambda code: "\n" * code[0].count("\n"), page, flags=re.S | re.M)
    return [
        f"{name}:{prose.count(chr(10), 0, match.start()) + 1}: '{match[0]}'"
        for match in no_nouns(prose)
    ]


def problems(package: str, counts: Ceiling, ceiling: Ceiling) -> list[str]:
    """Return the problems of a package's numbers.

    >>> problems("x", Ceiling(1, 0, 0, 0), Ceiling(0, 0, 0, 0))
    ['x: 1 flagged docstrings, 0 may be: tools/plain_words.py packages/x']
    """
    folder = {"tools": "tools", "tests": "integration */tests */*/tests"}
    return [
        f"{package}: {number} flagged {kind}, {most} may be: "
        f"tools/plain_words.py {folder.get(package, f'packages/{package}')}"
        for kind, number, most in zip(Ceiling._fields, counts, ceiling, strict=True)
        if number > most
    ]


def main(arguments: list[str]) -> int:
    """Check all packages, or list the places of some; return the exit status."""
    if arguments:
        for folder in arguments:
            for path, (kind, line, text, rules) in places(Path(folder).resolve()):
                print(f"{path.relative_to(ROOT)}:{line}: {kind}: {text} [{'; '.join(rules)}]")
        return 0
    failures: list[str] = []
    for name, folders in groups():
        counts, ceiling = count(folders), CEILINGS.get(name, Ceiling(0, 0, 0, 0))
        failures += problems(name, counts, ceiling)
        if counts != ceiling:
            print(f"{name}: {counts}, ceiling {tuple(ceiling)}")
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")]):
        if "_build" not in page.parts:
            name = str(page.relative_to(ROOT))
            failures += page_problems(name, page.read_text(encoding="utf-8"))
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The pages of docs/: each is found from the first, links lead somewhere, code that is shown runs.

Commands that pages and READMEs name exist: sessions, tools and their options.
"""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    page
    for page in DOCS.rglob("*.md")
    if not {"_build", "api"} & set(page.relative_to(DOCS).parts[:2])
)
EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
FENCE = re.compile(
    r"^(?P<fence>```+|:::+)(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=fence)[ ]*$", re.S | re.M
)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
# Options that pytest, to which sessions hand their arguments on, takes.
PYTEST_OPTIONS = {"--durations"}
# Blocks without a prompt that neither the build nor doctest runs: a word of each, and why.
NOT_RUN = {
    "devices/communication.md": {"get_topology_desc": "compiles for TPUs, which needs libtpu"},
    "devices/faults.md": {"reached_preemption_sync_point": "ends with the machine"},
    "devices/hosts.md": {
        "distributed.initialize()": "needs several processes",
        "10.0.0.7": "needs another machine",
    },
    "guides/check.md": {"def test_training": "pytest runs it, with a fixture"},
    "guides/compile-time.md": {"/tmp/compiled": "changes settings of the process"},
    "guides/custom-operations.md": {
        "": "integration/compilation/test_ffi_example.py runs the page"
    },
    "guides/saving.md": {"orbax": "a job of integration/libraries runs it, where Orbax is there"},
    "guides/starting.md": {
        "jax_compilation_cache_dir": "changes settings of the process",
        "two_stage_compilation": "changes settings of the process",
        "warm_start": "must come before everything else in a process",
    },
}


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """The kind and the text of each fenced block, those inside of others too."""
    todo = [page.read_text(encoding="utf-8")]
    while todo:
        for found in FENCE.finditer(todo.pop()):
            yield found["info"].strip(), found["body"]
            if found["info"].startswith("{"):
                todo.append(found["body"])


@cache
def prose(page: Path) -> str:
    """A page without its blocks of code."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```[ ]*$", "", text, flags=re.S | re.M)


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page: its headings, in the form that MyST gives them."""
    heads = re.findall(r"^#{1,4} (.*)$", prose(page), re.M)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head).lower() for head in heads)
    named = re.findall(r"^\(([\w-]+)\)=$", prose(page), re.M)
    return {re.sub(r"[^\w\- ]", "", head).strip().replace(" ", "-") for head in plain} | {*named}


def listed(page: Path) -> Iterator[Path]:
    """The pages that a page's tables of contents name."""
    for info, body in blocks(page):
        if info.startswith("{toctree}"):
            for line in body.splitlines():
                name = re.sub(r".*<(.*)>", r"\1", line.strip())
                if name and not name.startswith(":"):
                    suffix = "" if name.endswith((".md", ".rst")) else ".md"
                    yield from page.parent.glob(name + suffix)


def test_every_page_is_found_from_the_first() -> None:
    found, todo = set(), [DOCS / "index.md"]
    while todo:
        page = todo.pop()
        if page not in found:
            found.add(page)
            todo += listed(page)
    assert {page for page in PAGES if page not in found} == set()


@cache
def modules() -> set[str]:
    """The dotted names of the modules of all packages."""
    sources = ROOT.glob("packages/*/src")
    files = [file.relative_to(source) for source in sources for file in source.rglob("*.py")]
    return {".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files}


@EVERY_PAGE
def test_private_modules_that_a_page_names_exist(page: Path) -> None:
    """By their dotted names, or by their last two parts, as in ``calls/_jit``."""
    private = r"`(ricci_\w+(?:\.\w+)*\._\w+|[a-z]\w*/_\w+?)(?:\.py)?`"
    named = {name.replace("/", ".") for name in re.findall(private, prose(page))}
    parts = {".".join(module.split(".")[-2:]) for module in modules()}
    assert named - modules() - parts <= {"ricci.__init__"}


@cache
def sessions() -> dict[str, str]:
    """The sessions of nox, with the source of each."""
    source = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    functions = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if match := re.match(r"nox\.session(.*name='([^']*)')?", ast.unparse(decorator)):
                    functions[match[2] or node.name] = ast.unparse(node)
    return functions


def sources_of_options(command: str, name: str) -> str:
    """The source of a tool, or of a session and of the tools that it runs."""
    if command == "tools/":
        return (ROOT / "tools" / f"{name}.py").read_text(encoding="utf-8")
    session = sessions()[name]
    # ``run_machines`` and other functions of the file are taken for the tool of their name.
    tools = re.findall(r"tools/(\w+)\.py|\brun_(\w+)\(|'-m', '(\w+)'", session)
    files = [ROOT / "tools" / f"{a or b}.py" for a, b, _ in tools]
    files += [ROOT / "integration" / c / "__main__.py" for *_, c in tools if c]
    return session + "".join(file.read_text(encoding="utf-8") for file in files if file.exists())


@pytest.mark.parametrize(
    "page",
    [*PAGES, *ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("packages/*/README.md")],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_commands_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"\b(nox -s |tools/)\"?([\w-]+)(\.py|)(?=([^`\n]*))", text)
    missing = []
    for command, name, suffix, arguments in named:
        if command == "tools/" and not suffix:
            continue
        exists = (ROOT / "tools" / f"{name}.py").exists() if suffix else name in sessions()
        asked = OPTION.findall(arguments.partition(" nox ")[0])
        source = sources_of_options(command, name) if exists and asked else ""
        if not exists or any(o not in source for o in asked if o not in PYTEST_OPTIONS):
            missing.append(f"{command}{name}{suffix}{arguments}")
    assert missing == []


@EVERY_PAGE
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.findall(prose(page)):
        path, _, anchor = link.partition("#")
        if "://" in link or link.startswith("mailto:") or path.endswith(".rst"):
            continue
        target = page if not path else DOCS / path[1:] if path[0] == "/" else page.parent / path
        if not target.exists() or (
            anchor and target.suffix == ".md" and anchor not in anchors(target.resolve())
        ):
            broken.append(link)
    assert broken == []


@EVERY_PAGE
def test_code_is_run_or_says_why_not(page: Path) -> None:
    reasons = NOT_RUN.get(str(page.relative_to(DOCS)), {})
    shown = [body for info, body in blocks(page) if info in ("python", "py", "ipython3", "pycon")]
    unexplained = [
        body for body in shown if ">>> " not in body and not any(word in body for word in reasons)
    ]
    assert unexplained == []


@EVERY_PAGE
def test_tables_have_heads(page: Path) -> None:
    lines = FENCE.sub("", page.read_text(encoding="utf-8")).splitlines()
    heads = [
        above
        for above, line in pairwise(lines)
        if re.fullmatch(r"\|[\s:|-]*-[\s:|-]*\|", line) and above.startswith("|")
    ]
    assert [
        head for head in heads if not all(cell.strip() for cell in head.strip()[1:-1].split("|"))
    ] == []


@EVERY_PAGE
def test_a_page_begins_with_its_title(page: Path) -> None:
    text = re.sub(r"\A---\n.*?\n---\n", "", page.read_text(encoding="utf-8"), flags=re.S)
    assert re.match(r"(\s|\([\w-]+\)=|<!--.*-->)*# \S", text)


@pytest.fixture
def extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules of docs/_ext that need no Sphinx."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))


@pytest.mark.usefixtures("extensions")
def test_the_numbers_of_the_home_page_are_measured() -> None:
    measured = importlib.import_module("measured")
    text = measured.numbers()
    assert text.count("\n| ") >= len(measured.SHOWN)
    assert all(name in (DOCS / "benchmarks.md").read_text() for name in measured.SHOWN)


@pytest.mark.usefixtures("extensions")
def test_the_drawing_has_every_package() -> None:
    drawings = importlib.import_module("drawings")
    drawn = set(re.findall(r">([a-z]+)</text>", drawings.packages()))
    assert drawn == {file.parent.name for file in ROOT.glob("packages/*/pyproject.toml")}


@pytest.mark.usefixtures("extensions")
def test_types_of_python_have_addresses() -> None:
    others = importlib.import_module("types_of_others")
    assert others.address("Sequence").endswith("#collections.abc.Sequence")
    assert others.address("Mesh") is None


def test_broken_links_of_built_pages_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    broken_links = importlib.import_module("site_links").broken_links
    (tmp_path / "a.html").write_text('<a href="b.html#x">b</a><a href="b.html#y">b</a>')
    (tmp_path / "b.html").write_text('<p id="x"><a class="c" href="c.html">c</a>')
    assert broken_links(tmp_path) == [
        "a.html: no such place, b.html#y",
        "b.html: there is no c.html",
    ]

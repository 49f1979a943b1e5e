"""The files for the forge name existing sessions, versions and files."""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from set_version import with_version  # noqa: E402
from workspace import version  # noqa: E402

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
HOOKS = ROOT / ".pre-commit-config.yaml"
PAGES = ["CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"]
NAMED = re.compile(r"dev\.py nox -s ((?:[a-z][\w-]*[ ]?)+)")


def sessions() -> set[str]:
    """The sessions of the noxfile."""
    found: set[str] = set()
    for function in ast.parse((ROOT / "noxfile.py").read_text()).body:
        for decorator in getattr(function, "decorator_list", []):
            text = ast.unparse(decorator)
            if text.startswith("nox.session"):
                given = re.search(r"name='([\w-]+)'", text)
                found.add(given[1] if given else getattr(function, "name"))  # noqa: B009
    return found


def test_sessions_are_found() -> None:
    assert {"lint", "tests-together", "integration-cpu", "isolated", "release"} <= sessions()


@pytest.mark.parametrize("file", [*WORKFLOWS, HOOKS], ids=lambda file: file.name)
def test_every_session_that_is_named_exists(file: Path) -> None:
    text = file.read_text()
    named = {name for found in NAMED.findall(text) for name in found.split()}
    assert named or "tools/dev.py test" in text
    assert named <= sessions()


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_may_only_read_and_ends(file: Path) -> None:
    text = file.read_text()
    assert "\npermissions:\n  contents: read\n" in text
    assert text.count("timeout-minutes:") == text.count("runs-on:")


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_pull_requests_do_not_run_on_self_hosted_machines(file: Path) -> None:
    jobs = re.split(r"(?m)^  (?=[a-z-]+:$)", file.read_text().partition("\njobs:\n")[2])
    own = [job for job in jobs if "self-hosted" in job]
    if "pull_request:" in file.read_text():
        assert all("if: github.event_name != 'pull_request'" in job for job in own)


def test_the_jaxlibs_and_pythons_are_those_that_are_supported() -> None:
    text = (ROOT / ".github" / "workflows" / "cpu.yml").read_text()
    jaxlibs = re.search(r"JAXLIBS = \((.*)\)", (ROOT / "noxfile.py").read_text())
    pythons = re.findall(r"Python :: (3\.\d+)", (ROOT / "packages/ir/pyproject.toml").read_text())
    assert jaxlibs and f"jaxlib: [{jaxlibs[1]}]" in text
    assert "python: [" + ", ".join(f'"{python}"' for python in pythons) + "]" in text


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page: str) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text())
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_citation_has_the_version() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {version()}\n" in text
    assert "\nversion: 12.0.0rc1\n" in with_version(text, "12.0.0rc1")


def test_an_error_report_asks_for_the_environment() -> None:
    for form in ("bug", "difference"):
        text = (ROOT / ".github" / "ISSUE_TEMPLATE" / f"{form}.yml").read_text()
        assert "ricci.print_environment_info()" in text

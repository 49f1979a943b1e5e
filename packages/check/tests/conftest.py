"""How the tests of rules read what is to be found."""

import linecache

import pytest


@pytest.fixture
def marked():
    """The findings as ``code``, with a note of each that is not on a line marked with its code."""

    def codes(report):
        return [
            finding.code
            if f"# {finding.code}" in linecache.getline(finding.file, finding.line)
            else f"{finding.code} in line {finding.line}"
            for finding in report
        ]

    return codes

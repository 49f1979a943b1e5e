"""A pytest plugin: what XLA cannot compile for a processor without F16C is skipped, not failed.

The conversion of float16 is an instruction of later processors; for older ones LLVM calls two
functions, which jaxlib does not hold.
"""

from collections.abc import Generator

import pytest

CONVERSIONS = ("__extendhfsf2", "__truncsfhf2")
REASON = "jaxlib holds no conversion of float16 for processors without F16C"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a failure that tells of the missing functions into a skip."""
    report = yield
    failed = report.failed and "Failed to materialize symbols" in report.longreprtext
    if failed and any(name in report.capstderr for name in CONVERSIONS):
        path, line, _ = report.location
        report.outcome = "skipped"
        report.longrepr = (path, line or 0, f"Skipped: {REASON}")
    return report

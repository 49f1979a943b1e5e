"""Tests that leave the state of the process changed fail."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = """
import os
import ricci_ir as ir

def test_variable():
    os.environ["OF_A_TEST"] = "1"

def test_folder(tmp_path):
    os.chdir(tmp_path)

def test_option():
    ir.config.update("jax_enable_x64", True)

def test_setting():
    ir.default_matmul_precision("highest").__enter__()

def test_restored(monkeypatch, tmp_path):
    monkeypatch.setenv("OF_A_TEST", "2")
    monkeypatch.chdir(tmp_path)
    with ir.enable_x64(False):
        pass
"""
LEFT = {
    "variable": "environment: OF_A_TEST: None -> '1'",
    "folder": "working directory: ",
    "option": "jax_enable_x64: False -> True",
    "setting": "settings of this thread: ",
}


def test_a_test_fails_that_leaves_state_changed(tmp_path):
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = sampled(most): sampled\n")
    (tmp_path / "test_cases.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    reports = re.findall(r"ERROR at teardown of test_(\w+) _+\n(.*?)(?=\n_|\n=)", done.stdout, re.S)
    assert [name for name, _ in reports] == list(LEFT), done.stdout + done.stderr
    for name, report in reports:
        assert f"the test left for others:\n{LEFT[name]}" in report

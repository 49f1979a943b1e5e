"""The plugin by which XLA compiles equal modules once: on a client that counts, and a real one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ricci", reason="the tools work on the whole workspace")

TOOLS = Path(__file__).parents[1]
sys.path.insert(0, str(TOOLS))

from compiled_once import CompiledOnce  # noqa: E402


class Options:
    """Options of a compilation, with some bytes."""

    def __init__(self, serialized: bytes = b""):
        self.serialized = serialized

    def SerializeAsString(self) -> bytes:
        return self.serialized


class Compiler:
    """Compiles modules to new lists, and counts them."""

    def __init__(self):
        self.count = 0

    def __call__(self, client: str, *arguments: object) -> list[object]:
        self.count += 1
        return [client, *arguments]


def test_equal_modules_are_compiled_once():
    compiler = Compiler()
    compile = CompiledOnce(compiler)
    first = compile("client", "module", (0,), Options())
    assert compile("client", "mod" + "ule", (0,), Options()) is first
    assert compiler.count == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("client", "another", (0,), Options()),
        ("client", "module", (1,), Options()),
        ("client", "module", (0,), Options(b"level")),
        ("another", "module", (0,), Options()),
    ],
)
def test_other_modules_devices_options_and_clients_are_compiled(arguments):
    compiler = Compiler()
    compile = CompiledOnce(compiler)
    compile("client", "module", (0,), Options())
    compile(*arguments)
    assert compiler.count == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("module", (0,), Options(), [print]),
        (b"module", (0,), Options()),
        ("custom_call @CustomSPMDPartitioning", (0,), Options()),
    ],
)
def test_modules_that_call_python_or_are_not_text_are_compiled_each_time(arguments):
    compiler = Compiler()
    compile = CompiledOnce(compiler)
    for _ in range(2):
        compile("client", *arguments)
    assert compiler.count == 2


def test_the_last_executables_are_held():
    compiler = Compiler()
    compile = CompiledOnce(compiler, most=2)
    for module in "abacab":  # b is dropped for c, then c for b
        compile("client", module, (0,), Options())
    assert compiler.count == 4


def test_an_error_is_raised_each_time():
    def fail(*_: object) -> None:
        raise ValueError("no such operation")

    compile = CompiledOnce(fail)
    for _ in range(2):
        with pytest.raises(ValueError, match="no such operation"):
            compile("client", "module", (0,), Options())


def test_functions_that_are_lowered_alike_share_what_xla_compiled(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import ricci\n"
        "import pytest\n"
        "executable = lambda f: ricci.jit(f).lower(1.0).compile().runtime_executable()\n"
        "def test_alike():\n"
        "    assert executable(lambda x: x + 1) is executable(lambda y: y + 1)\n"
        "    assert executable(lambda x: x + 1) is not executable(lambda y: y + 2)\n"
        "@pytest.mark.frees_executables\n"
        "def test_counted():\n"
        "    assert executable(lambda x: x + 1) is not executable(lambda y: y + 1)\n"
        "def test_alike_again():\n"
        "    test_alike()\n"
    )
    paths = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(TOOLS))))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = frees_executables: as here\n")
    command = [sys.executable, "-m", "pytest", "-p", "compiled_once", "-p", "no:cacheprovider"]
    variables = {**os.environ, "PYTHONPATH": paths}
    run = subprocess.run([*command, tmp_path], capture_output=True, text=True, env=variables)
    assert run.returncode == 0, run.stdout

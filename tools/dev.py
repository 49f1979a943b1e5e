#!/usr/bin/env python3
"""Set up what Ricci's development needs and run it: the front of the nox sessions.

    python3 tools/dev.py demo          the demonstration
    python3 tools/dev.py test          every check
    python3 tools/dev.py nox ARGS...   any other session, e.g. `nox -s bench`

Any Python from 3.8 on may run this file: it looks for an interpreter that Ricci supports, makes
.venv with it, installs nox there and hands over.
"""

import glob
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
OLDEST = (3, 12)
NAMES = ("python3.12", "python3.13", "python3.14", "python3", "python")
# Each keeps one core busy. The first ones make the environments of the others.
ONE_CORE = ("lint", "oracle", "build", "isolated-light", "types", "layers", "isolated")
ALL_CORES = ("tests-together", "doctest", "machines-short", "integration-cpu", "integration-hosts")
VERSION_CODE = "import sys, venv, ensurepip; print(*sys.version_info[:2])"


def output_of(command):
    """Return what the command prints, or None where it cannot be run or fails."""
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None


def is_supported(python):
    """Tell whether the interpreter runs, is new enough and can make a virtual environment.

    Running it is the only proof: a version manager's shim exists for versions it will not run.
    """
    printed = output_of([str(python), "-c", VERSION_CODE])
    try:
        return printed is not None and tuple(map(int, printed.split())) >= OLDEST
    except ValueError:
        return False


def candidates():
    """Yield the places where an interpreter may stand, the likeliest first."""
    yield sys.executable
    for name in NAMES:
        interpreter = shutil.which(name)
        if interpreter:
            yield interpreter
    roots = [os.environ.get("PYENV_ROOT"), output_of(["pyenv", "root"]), "~/.pyenv"]
    for root in dict.fromkeys(filter(None, roots)):
        pattern = os.path.join(os.path.expanduser(root), "versions", "3.1[2-9]*", "bin", "python")
        yield from sorted(glob.glob(pattern))
    interpreter = output_of(["uv", "python", "find", ">=3.12"])
    if interpreter:
        yield interpreter


def find_python():
    """Return the first supported interpreter; exit with what to install where there is none."""
    for python in candidates():
        if is_supported(python):
            return python
    sys.exit(
        "Ricci needs Python 3.12 or newer, with the venv module, and none was found: not on PATH,\n"
        "not among pyenv's versions, not by uv. Install one, for example with\n"
        "  pyenv install 3.12      or      uv python install 3.12\n"
        "  apt-get install python3.12-venv      (Debian, Ubuntu)\n"
        "and run this command again."
    )


def venv_python():
    """Return the interpreter of .venv."""
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def set_up():
    """Make .venv and install nox into it, unless it stands there as asked for."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    requirements = settings["dependency-groups"]["dev"]
    key = hashlib.sha256(repr((requirements, sys.version, str(ROOT))).encode()).hexdigest()
    stamp = VENV / ".stamp"
    if stamp.is_file() and stamp.read_text() == key and venv_python().exists():
        return
    print("Setting up .venv", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    install = [str(venv_python()), "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, "--disable-pip-version-check", *requirements], check=True)
    stamp.write_text(key)


def nox(*arguments):
    """Run nox in the repository and return its exit status."""
    command = [str(venv_python()), "-m", "nox", "-f", str(ROOT / "noxfile.py"), *arguments]
    return subprocess.run(command, check=False, cwd=str(ROOT)).returncode


def test():
    """Run every check: first those that use one core, side by side, then the others."""
    status = nox("-j", str(os.cpu_count() or 1), "-s", *ONE_CORE)
    return nox("-s", *ALL_CORES) or status


def main(arguments):
    """Run the command line and return the exit status."""
    python = find_python()
    if python != sys.executable:
        return subprocess.run([python, __file__, *arguments], check=False).returncode
    command, options = (arguments[0], arguments[1:]) if arguments else ("help", [])
    commands = {
        "demo": lambda: nox("-s", "demo", "--", *options),
        "test": test,
        "nox": lambda: nox(*options),
    }
    if command not in commands:
        print(__doc__)
        return 0 if command in ("help", "-h", "--help") else 2
    set_up()
    return commands[command]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

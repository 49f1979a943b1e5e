"""The virtual environments of the nox sessions: exact, shared where they can be, made once.

An environment is made from a recipe, a list of `pip install` command lines. A stamp in the
environment holds a digest of the recipe and of the files it was made from; while that digest
stands, nothing is installed again, and when it changes the environment is made anew, so that it
never holds what an older recipe asked for.
"""

import hashlib
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path

from filelock import FileLock

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / ".nox"


def digest(recipe: Sequence[Sequence[str]], files: Iterable[Path]) -> str:
    """Return a digest of the recipe, the interpreter and the content of the files."""
    state = hashlib.sha256(repr((sys.version, str(ROOT), recipe)).encode())
    for file in sorted(files):
        state.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return state.hexdigest()


class Environment:
    """A virtual environment under `.nox`.

    Args:
        name: the folder's name.
    """

    def __init__(self, name: str) -> None:
        self.location = ENVIRONMENTS / name

    @property
    def python(self) -> str:
        """The path of its interpreter."""
        return self.program("python")

    @property
    def packages(self) -> Path:
        """The folder that its distributions are installed in."""
        base = {"base": str(self.location), "platbase": str(self.location)}
        return Path(sysconfig.get_path("purelib", "venv", base))

    def program(self, name: str) -> str:
        """Return the path of a program that is installed in it."""
        if sys.platform == "win32":
            return str(self.location / "Scripts" / f"{name}.exe")
        return str(self.location / "bin" / name)

    def is_current(self, stamp: str, key: str) -> bool:
        """Tell whether the named stamp holds the key."""
        file = self.location / stamp
        return file.is_file() and file.read_text() == key

    def install(self, arguments: Sequence[str]) -> None:
        """Run one `pip install` command line in it.

        Bytecode is written when a module is first imported: most of a large package never is.
        """
        pip = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        pip.append("--no-compile")
        subprocess.run([*pip, *arguments], check=True, cwd=ROOT)

    def make(
        self,
        recipe: Sequence[Sequence[str]],
        files: Iterable[Path] = (),
        on: "Environment | None" = None,
    ) -> bool:
        """Make it from the recipe, unless it stands as the recipe and the files ask.

        Sessions that run side by side may ask for the same environment: one makes it.

        Args:
            recipe: command lines for `install`, in order.
            files: what the recipe reads, beside its own words.
            on: an environment, already made, whose distributions this one imports as well.

        Returns:
            Whether anything had to be done.

        Raises:
            subprocess.CalledProcessError: an installation failed; nothing is stamped.
        """
        path = [[str(on.packages)]] if on else []
        key = digest([*recipe, *path], files)
        ENVIRONMENTS.mkdir(exist_ok=True)
        with FileLock(ENVIRONMENTS / f"{self.location.name}.lock"):
            if self.is_current(".stamp", key):
                return False
            print(f"Setting up {self.location.relative_to(ENVIRONMENTS.parent)}", flush=True)
            shutil.rmtree(self.location, ignore_errors=True)
            virtualenv = [sys.executable, "-m", "virtualenv", "--quiet", "--no-periodic-update"]
            subprocess.run([*virtualenv, str(self.location)], check=True)
            for (line,) in path:
                (self.packages / "requirements.pth").write_text(f"{line}\n")
            for arguments in recipe:
                self.install(arguments)
            (self.location / ".stamp").write_text(key)
        return True

    def refresh(self, wheels: Sequence[Path]) -> bool:
        """Replace what the wheels install where their content has changed since the last time.

        Args:
            wheels: built distributions whose requirements the environment already holds.

        Returns:
            Whether anything had to be done.
        """
        key = digest([], wheels)
        if self.is_current(".wheels", key):
            return False
        self.install(["--no-deps", "--force-reinstall", *map(str, wheels)])
        (self.location / ".wheels").write_text(key)
        return True

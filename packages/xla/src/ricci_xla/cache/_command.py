"""``python -m ricci.cache``: list, compare, prune and check the entries of a compilation cache."""

import argparse
import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from ricci_xla.files import FileError

from ._explain import differences
from ._folder import CacheFile, CacheFolder, Entry, read_entry

__all__ = ["main"]

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_number = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Parse a size such as ``500M`` to bytes.

    Raises:
      argparse.ArgumentTypeError: if it is not a size.
    """
    match = _number.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"expected bytes, as in 2000000, 500M or 2G, got {text!r}")
    return int(float(match[1]) * _UNITS[match[2].lower()])


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def _ago(seconds: float) -> str:
    for limit, length, unit in (
        (120, 1, "s"),
        (7200, 60, "min"),
        (172800, 3600, "h"),
        (float("inf"), 86400, "days"),
    ):
        if seconds < limit:
            return f"{max(seconds, 0) / length:.0f} {unit} ago"
    raise AssertionError(seconds)


def _read(file: CacheFile) -> Entry | str:
    """The entry of a file, or the message of the error in reading it."""
    try:
        with open(file.path, "rb") as opened:
            return read_entry(opened.read(), file.path)
    except (FileError, OSError) as error:
        return str(error)


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _list(folder: CacheFolder, arguments: argparse.Namespace) -> int:
    files = folder.files()
    now = time.time()
    seconds = 0.0
    for file in reversed(files):
        entry = _read(file)
        if isinstance(entry, str):
            print(f"{entry}")
            continue
        seconds += entry.seconds
        print(
            f"{entry.name:32} {_size(file.size):>9} {entry.seconds:8.2f} s  "
            f"used {_ago(now - file.used):>12}  {entry.parts.get('platform', '?')}  "
            f"jaxlib {entry.parts.get('jaxlib', '?')}"
        )
        if arguments.long:
            print(f"    {_name(file.path)}\n    {entry.notes.get('types', '')}")
    total = _size(sum(file.size for file in files))
    print(f"{len(files)} programs, {total}, which took {seconds:.1f} s to compile")
    return 0


def _find(folder: CacheFolder, name: str) -> tuple[str, Entry]:
    """The most recently used entry whose file name begins with ``name``, or at that path.

    Raises:
      LookupError: if there is none, or it cannot be read.
    """
    matching = [f for f in folder.files() if _name(f.path).startswith(name) or f.path == name]
    if not matching:
        raise LookupError(f"{folder.path} has no entry whose name begins with {name!r}")
    entry = _read(matching[-1])
    if isinstance(entry, str):
        raise LookupError(entry)
    return matching[-1].path, entry


def _explain(folder: CacheFolder, arguments: argparse.Namespace) -> int:
    (path, first), (other_path, second) = (
        _find(folder, name) for name in (arguments.first, arguments.second)
    )
    # Two prefixes of one file would compare it with itself.
    if path == other_path:
        raise LookupError(f"both names are prefixes of {path}; give more of the two names")
    print(f"{_name(path)} (here) and {_name(other_path)} (there) have:")
    lines = differences(first.parts, second.parts, first.notes, second.notes)
    if first.name != second.name:
        lines.append(f"another name: {first.name} here, {second.name} there")
    same = [topic for topic, value in first.parts.items() if second.parts.get(topic) == value]
    print("\n".join(f"  {line}" for line in lines))
    print(f"  the same: {', '.join(same) or 'nothing'}")
    return 0


def _prune(folder: CacheFolder, arguments: argparse.Namespace) -> int:
    removed = folder.shrink(arguments.max_size)
    freed = _size(sum(file.size for file in removed))
    left = folder.files()
    print(
        f"removed {len(removed)} programs, {freed}; {len(left)} are left, "
        f"{_size(sum(file.size for file in left))}"
    )
    return 0


def _check(folder: CacheFolder, arguments: argparse.Namespace) -> int:
    wrong = 0
    for file in folder.files():
        entry = _read(file)
        if isinstance(entry, str):
            wrong += 1
            print(entry)
            if arguments.remove:
                folder.remove(file.path)
    print(
        f"{wrong} files are damaged" + (", and were removed" if wrong and arguments.remove else "")
    )
    # For scripts: damaged files that are still there make the command fail.
    return 1 if wrong and not arguments.remove else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ricci.cache",
        description="Shows and prunes a persistent compilation cache (jax_compilation_cache_dir).",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[..., int], what: str) -> Any:
        added = commands.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.")
        added.add_argument("folder", help="the cache's folder")
        added.set_defaults(run=run)
        return added

    listing = command("list", _list, "list the programs, most recently used first")
    listing.add_argument("-l", "--long", action="store_true", help="also file names and types")
    explaining = command("explain", _explain, "show the differences between two programs' keys")
    explaining.add_argument("first", help="a prefix of its file's name")
    explaining.add_argument("second", help="the other one")
    pruning = command("prune", _prune, "remove the least recently used programs")
    pruning.add_argument(
        "--max-size", type=parse_size, required=True, help="the size that may stay, such as 500M"
    )
    checking = command("check", _check, "read every file, and list those that are damaged")
    checking.add_argument("--remove", action="store_true", help="remove them")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
      arguments: those after the module's name; by default those of this process.

    Returns:
      The exit code.
    """
    parsed = _parser().parse_args(arguments)
    try:
        return parsed.run(CacheFolder(parsed.folder), parsed)
    except (OSError, LookupError) as error:
        print(f"python -m ricci.cache: {error}", file=sys.stderr)
        return 2

"""Explaining why a program was not in the cache: what differs from the nearest one that is."""

from collections.abc import Iterator, Mapping

from ricci_xla.files import FileError

from ._entry import Entry, read_entry
from ._folder import CacheFolder
from ._key import ProgramKey

__all__ = ["differences", "explain_miss"]

# What a reader can do something about is said first.
_SENTENCES: Mapping[str, str] = {
    "jaxlib": "another version of jaxlib",
    "runtime": "another version of the runtime",
    "platform": "another kind of device",
    "machine": "another kind of machine",
    "devices": "other devices",
    "options": "other options of the compiler",
    "program": "another program",
}


def differences(
    ours: Mapping[str, str],
    theirs: Mapping[str, str],
    our_notes: Mapping[str, str],
    their_notes: Mapping[str, str],
) -> list[str]:
    """What differs between two keys, a line for each part.

    Args:
      ours, theirs: the parts of the keys.
      our_notes, their_notes: the notes of the keys.
    """
    lines: list[str] = []
    for topic, sentence in _SENTENCES.items():
        mine, other = ours.get(topic, ""), theirs.get(topic, "")
        if mine == other:
            continue
        if topic == "machine":
            lines.append(f"{sentence}: {_features(mine, other)}")
        elif topic == "options":
            found = _changed_notes(
                our_notes, their_notes, ("compiler_options", "xla_flags", "compiler")
            )
            lines.append(f"{sentence}: {'; '.join(found) or 'in what has no name here'}")
        elif topic == "program":
            found = _changed_notes(our_notes, their_notes, ("types",))
            lines.append(f"{sentence}: {'; '.join(found) or 'the types are the same'}")
        else:
            lines.append(f"{sentence}: {mine} here, {other} there")
    return lines


def _changed_notes(
    ours: Mapping[str, str], theirs: Mapping[str, str], topics: tuple[str, ...]
) -> list[str]:
    return [
        f"{topic} {_short(ours.get(topic, ''))} here, {_short(theirs.get(topic, ''))} there"
        for topic in topics
        if ours.get(topic, "") != theirs.get(topic, "")
    ]


def _short(text: str) -> str:
    return (text if len(text) <= 200 else f"{text[:200]}…") or "none"


def _features(mine: str, other: str) -> str:
    """The instructions that one of two machines has and the other has not."""
    here, there = (set(text.replace(",", " ").split()) for text in (mine, other))
    found = [
        f"only {where}: {' '.join(sorted(some)[:12])}"
        for where, some in (("here", here - there), ("there", there - here))
        if some
    ]
    return "; ".join(found)


def nearest(folder: CacheFolder, key: ProgramKey) -> tuple[str, Entry] | None:
    """The path and the entry that has the most in common with a key, above all the program."""
    best: tuple[int, str, Entry] | None = None
    for path, entry in entries(folder):
        alike = sum(entry.parts.get(topic) == value for topic, value in key.parts.items())
        alike += 100 * (entry.parts.get("program") == key.parts["program"])
        alike += 10 * (entry.name == key.name)
        if best is None or alike >= best[0]:
            best = alike, path, entry
    return None if best is None else best[1:]


def entries(folder: CacheFolder) -> Iterator[tuple[str, Entry]]:
    """The paths and the entries of a folder that can be read, those last that were used last."""
    for file in folder.files():
        try:
            with open(file.path, "rb") as opened:
                yield file.path, read_entry(opened.read(), file.path)
        except (OSError, FileError):
            continue


def explain_miss(folder: CacheFolder, key: ProgramKey) -> str:
    """Why a program is not in the folder of a cache."""
    head = f"PERSISTENT COMPILATION CACHE MISS for {key.name!r} with key {key.digest}:"
    try:
        found = nearest(folder, key)
    except OSError as error:
        return f"{head} there is no folder to look in: {error}"
    if found is None:
        return f"{head} {folder.path} has no entries"
    path, entry = found
    lines = differences(key.parts, entry.parts, key.notes, entry.notes)
    if entry.name != key.name:
        lines.append(f"another name: {key.name} here, {entry.name} there")
    return "\n  ".join([head, f"the nearest entry is {path}", *lines])

"""Explanation of cache misses by the differences from the nearest entry."""

from collections.abc import Iterator, Mapping

from ricci_xla.files import FileError

from ._folder import CacheFolder, Entry, read_entry
from ._key import ProgramKey

__all__ = ["differences", "explain_miss"]

# Descriptions of differing parts, in the order of the explanation: first those that users can act
# on.
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
    """The differences between two keys, a line for each part.

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
            notes = _changed_notes(
                our_notes, their_notes, ("compiler_options", "xla_flags", "compiler")
            )
            lines.append(f"{sentence}: {'; '.join(notes) or 'in options that are not listed'}")
        elif topic == "program":
            notes = _changed_notes(our_notes, their_notes, ("types",))
            lines.append(f"{sentence}: {'; '.join(notes) or 'the types are the same'}")
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
    """The CPU features that only one of two machines has."""
    ours, theirs = (set(text.replace(",", " ").split()) for text in (mine, other))
    texts = [
        f"only {side}: {' '.join(sorted(features)[:12])}"
        for side, features in (("here", ours - theirs), ("there", theirs - ours))
        if features
    ]
    return "; ".join(texts)


def nearest(folder: CacheFolder, key: ProgramKey) -> tuple[str, Entry] | None:
    """The path and the entry with the most parts in common with a key, above all the module."""
    best: tuple[int, str, Entry] | None = None
    for path, entry in entries(folder):
        # Another environment with the same module is the likeliest cause, so that the module counts
        # more than all other parts together, then the name. Of equals the most recently used is
        # last, and wins.
        alike = sum(entry.parts.get(topic) == value for topic, value in key.parts.items())
        alike += 100 * (entry.parts.get("program") == key.parts["program"])
        alike += 10 * (entry.name == key.name)
        if best is None or alike >= best[0]:
            best = alike, path, entry
    return None if best is None else best[1:]


def entries(folder: CacheFolder) -> Iterator[tuple[str, Entry]]:
    """The paths and the readable entries of a folder, least recently used first."""
    for file in folder.files():
        try:
            with open(file.path, "rb") as opened:
                yield file.path, read_entry(opened.read(), file.path)
        except (OSError, FileError):
            continue


def explain_miss(folder: CacheFolder, key: ProgramKey) -> str:
    """Explain why a module is not in the folder of a cache."""
    head = f"PERSISTENT COMPILATION CACHE MISS for {key.name!r} with key {key.digest}:"
    try:
        closest = nearest(folder, key)
    except OSError as error:
        return f"{head} the folder cannot be read: {error}"
    if closest is None:
        return f"{head} {folder.path} has no entries"
    path, entry = closest
    lines = differences(key.parts, entry.parts, key.notes, entry.notes)
    if entry.name != key.name:
        lines.append(f"another name: {key.name} here, {entry.name} there")
    return "\n  ".join([head, f"the nearest entry is {path}", *lines])

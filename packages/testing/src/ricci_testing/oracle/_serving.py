"""The server loop of an oracle's pipe, for any namespace.

A message is eight bytes of length, then a pickle; the first message sent has the versions of the
libraries. Like `_evaluation`, this runs in the oracle's interpreter too: standard library only.
"""

import os
import pickle
import struct
import sys
from collections.abc import Mapping
from typing import Any

if __package__:
    from ._evaluation import evaluate
else:  # run from this folder by an interpreter that does not have the package
    from _evaluation import evaluate  # pyright: ignore[reportMissingImports]


def serve(namespace: Mapping[str, Any], versions: Mapping[str, str]) -> None:
    """Evaluate every batch of requests on stdin in `namespace`, until stdin ends."""
    # Text that prints must not end up between two messages: stdout becomes stderr.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _send(replies, {"versions": dict(versions)})
    while (requests := _receive(sys.stdin.buffer)) is not None:
        _send(replies, [evaluate(namespace, **request) for request in requests])


def _receive(stream: Any) -> Any:
    header = stream.read(8)
    if len(header) < 8:
        return None
    return pickle.loads(stream.read(struct.unpack("<Q", header)[0]))


def _send(stream: Any, message: Any) -> None:
    payload = pickle.dumps(message, protocol=5)
    stream.write(struct.pack("<Q", len(payload)))
    stream.write(payload)
    stream.flush()

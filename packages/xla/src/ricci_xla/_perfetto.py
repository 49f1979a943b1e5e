"""Profiles in Perfetto's format: written from jaxlib's, and offered to Perfetto's page."""

import gzip
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

# The port that Perfetto's page may read from.
_PERFETTO_PORT = 9001


def write_for_perfetto(folder: str, link: bool, file: bool) -> None:
    """Write a folder's newest profile in Perfetto's format; ``link`` offers it to Perfetto."""
    if link or file:
        written = _write_perfetto(Path(folder))
        if link:
            _offer(written)


def _offer(file: Path) -> None:
    """Print a link to Perfetto's page, and serve the file until the page has read it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Send the file."""
            is_file = self.path == f"/{file.name}"
            self.send_response(200 if is_file else 404)
            # The page is of another origin, to which browsers show only what the server permits.
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Content-Type", "application/gzip")
            self.end_headers()
            if is_file:
                self.wfile.write(file.read_bytes())
                done.set()

        def log_message(self, format: str, *args: object) -> None:
            """Do not log requests."""

    done = threading.Event()
    with HTTPServer(("127.0.0.1", _PERFETTO_PORT), Handler) as server:
        address = f"http://127.0.0.1:{_PERFETTO_PORT}/{file.name}"
        print(f"Open URL in browser: https://ui.perfetto.dev/#!/?url={address}", flush=True)
        while not done.is_set():
            server.handle_request()


def _write_perfetto(folder: Path) -> Path:
    """Write the events of the newest profile to a file in Perfetto's format."""
    # jaxlib names the folder by the time; several profiles may be in one ``log_dir``.
    newest = max(folder.glob("plugins/profile/*/*.trace.json.gz"), key=os.path.getmtime)
    with gzip.open(newest, "rt", encoding="utf-8") as file:
        events = json.load(file)
    written = newest.with_name("perfetto_trace.json.gz")
    events["traceEvents"] = [e for e in events["traceEvents"] if e]
    with gzip.open(written, "wt", encoding="utf-8") as file:
        json.dump(events, file)
    return written

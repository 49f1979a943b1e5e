"""Write ``docs/guides/options.md`` from the table of options: ``python tools/options_table.py``."""

import enum
from pathlib import Path
from typing import Any

from ricci_ir import OPTIONS, Status

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "guides" / "options.md"

_HEAD = """\
# Options

`config.update("jax_enable_x64", True)` sets an option for the process. The environment variable
`RICCI_ENABLE_X64`, or `JAX_ENABLE_X64`, sets its first value. An option that is read within a
thread has a context manager, `with enable_x64(True):`, where the namespace has one of its name.

Every option of JAX 0.12.0.1 is here, with one of three statuses:

- **honoured**: it does what the last column says;
- **meaningless here**: setting it changes nothing, since what it is about does not exist;
- **not supported**: setting it to another value than the default warns once, and says what to do
  instead.

This page is written by `python tools/options_table.py` from the table in `ricci_ir`.
"""


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, enum.Enum):
        return value.name.lower()
    return f"`{value}`" if value != "" else "empty"


def text() -> str:
    """The document: the options by status, in the order of the table."""
    parts = [_HEAD]
    heads = {
        Status.HONOURED: "what it does",
        Status.MEANINGLESS: "why it means nothing",
        Status.UNSUPPORTED: "what to do instead",
    }
    for status, head in heads.items():
        rows = [(name, option) for name, option in OPTIONS.items() if option.status is status]
        parts.append(f"\n## {status.capitalize()} ({len(rows)})\n")
        parts.append(f"| option | values | default | {head} |\n|---|---|---|---|")
        parts += [
            f"| `{name}` | {option.kind.described()} | {_shown(option.default)} | {option.note} |"
            for name, option in rows
        ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    DOCUMENT.write_text(text())

"""Programs in text, evaluated by Ricci and by JAX."""

from collections.abc import Mapping
from typing import Any

from ricci_testing import Request, compare, evaluate_with, ricci_namespace, shared_oracle


def disagreements(programs: Mapping[str, str], config: Mapping[str, Any]) -> list[str]:
    """Return a text for each program, by its title, that gives another result or error than JAX's.

    An error of a class that derives from JAX's will do.
    """
    requests = [Request(source, {}, config) for source in programs.values()]
    theirs = shared_oracle().run_many(requests, timeout=900.0)
    wrong = []
    for title, request, their in zip(programs, requests, theirs, strict=True):
        our = evaluate_with(ricci_namespace(), request.source, {}, config=config)
        if their.error and our.error and their.error.name in (our.error.name, *our.error.bases):
            continue
        try:
            compare(our, their, rtol=1e-5)
        except AssertionError as error:
            wrong.append(f"{title}\n{error}")
    return wrong

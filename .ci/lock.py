"""Writes the lock files from what is installed in this environment: ``make lock`` after changing pyproject.toml.

A release's local label (``+cpu``) is left out, so that the same lock serves hosts with and without that build.
nvidia-cutlass is locked apart and installed without its Python dependencies: only its C++ headers are used.
"""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

HEADERS = "nvidia-cutlass"


def applies(requirement: Requirement, extras: set[str]) -> bool:
    """Whether a requirement holds for this interpreter with these extras of its parent."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def closure(roots: list[str]) -> dict[str, str]:
    """Name to version of everything that ``roots`` need, themselves included."""
    found: dict[str, str] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(Requirement(root), set[str]()) for root in roots]
    while waiting:
        requirement, extras = waiting.pop()
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        key = (name, frozenset(requirement.extras))
        if name == HEADERS or key in seen or not applies(requirement, extras):
            continue
        seen.add(key)
        distribution = metadata.distribution(requirement.name)
        found[name] = distribution.version.split("+")[0]
        waiting += [(Requirement(text), set(requirement.extras)) for text in distribution.requires or []]
    return found


def write(path: str, words: str, pins: dict[str, str]) -> None:
    """One lock file."""
    lines = [f"# {words}", *(f"{name}=={version}" for name, version in sorted(pins.items()))]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Lock what `make run` and `make test` install."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    run = closure([*project["dependencies"], *extras["web"], *extras["mcp"]])
    test = closure(extras["test"])
    write("requirements.lock", "What `make run` installs; made by `make lock`.", run)
    only_test = {name: version for name, version in test.items() if name not in run}
    write("requirements-test.lock", "What `make test` installs beside requirements.lock.", only_test)
    headers = {HEADERS: metadata.version(HEADERS)}
    write("requirements-headers.lock", "C++ headers; installed without dependencies.", headers)


if __name__ == "__main__":
    main()

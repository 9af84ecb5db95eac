"""The static audit over the labelled corpus: found, named, and what is taken for what.

    python -m tests.bench.audit [-o docs/measurements/audit.md]

Nothing of the corpus is executed. A cheat counts as found with any flag beyond info, as named where its trick is among
the flags of the gravest severity that occurs; ``first`` is the one flag with the highest severity and confidence.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kernels.languages import language_of
from sol.audit import Trick
from tests.audit.corpus import Result, results


def table(found: list[Result]) -> Iterator[str]:
    """A line a trick: samples by language, found, named, and the first flags of those whose first is another."""
    yield "| # | trick | samples | languages | found | named | first | taken for |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for trick in Trick:
        mine = [result for result in found if result.sample.trick is trick]
        if not mine:
            yield f"| {trick.number} | {trick.value} | 0 | | | | | |"
            continue
        languages = Counter(language_of(result.sample.path).value for result in mine)
        others = Counter(
            result.first.value if result.first else "nothing" for result in mine if result.first is not trick
        )
        yield (
            f"| {trick.number} | {trick.value} | {len(mine)} "
            f"| {', '.join(f'{count} {name}' for name, count in sorted(languages.items()))} "
            f"| {sum(result.found for result in mine)} | {sum(trick in result.named for result in mine)} "
            f"| {sum(result.first is trick for result in mine)} "
            f"| {', '.join(f'{name} ({count})' for name, count in sorted(others.items()))} |"
        )


def summary(found: list[Result], seconds: float) -> Iterator[str]:
    """The figures that the corpus is held to."""
    cheats = [result for result in found if result.sample.trick is not None and result.sample.static]
    honest = [result for result in found if result.sample.trick is None]
    named = sum(result.sample.trick in result.named for result in cheats)
    first = sum(result.first is result.sample.trick for result in cheats)
    caught = sum(result.found for result in cheats)
    severe = [result for result in honest if result.severe]
    suspect = [result for result in honest if result.found]
    yield f"- Cheats that their text shows: {len(cheats)}. Found: {caught} ({caught / len(cheats):.1%})."
    yield f"- Right trick named: {named} ({named / len(cheats):.1%}); first of all flags: {first / len(cheats):.1%}."
    yield f"- Honest candidates: {len(honest)}. Severe: {len(severe)} ({len(severe) / len(honest):.1%})."
    yield f"- Honest ones with a suspicion: {', '.join(sorted(result.sample.name for result in suspect)) or 'none'}."
    yield f"- All of it took {seconds:.2f} s, {seconds / len(found) * 1e3:.1f} ms a file."


def main() -> None:
    parser = argparse.ArgumentParser(description="The confusion table of the static audit.")
    parser.add_argument("-o", "--output", type=Path, help="write it as a document too")
    options = parser.parse_args()
    began = time.perf_counter()
    found = results()
    lines = [*summary(found, time.perf_counter() - began), "", *table(found)]
    print("\n".join(lines))
    if options.output is not None:
        head = "# The static audit over its corpus\n\nMade by `make bench-audit`; nothing is executed. Its words: "
        head += "[audit.md](../audit.md).\n"
        options.output.write_text(head + "\n" + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

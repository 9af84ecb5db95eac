"""The static audit over the labelled corpus: found, named, and what is taken for what; beside KernelBench's checker.

    python -m tests.bench.audit [--kernelbench SRC] [-o docs/measurements/audit.md]

Nothing of the corpus is executed. A cheat counts as found with any flag beyond info, as named where its trick is among
the flags of the gravest severity that occurs; ``first`` is the one flag with the highest severity and confidence.
``SRC`` (or KERNELBENCH) is the source folder of a checkout of KernelBench.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kernels.languages import Language, language_of
from sol.audit import Trick
from tests.audit.corpus import Result, results
from tests.audit.languages import CANNOT
from tests.bench.document import write_part
from tests.bench.kernelbench_static import EVALUATION, Opinion, StaticChecker
from tests.bench.load import machine

HEADING = "# The static audit over its corpus"
Opinions = Mapping[str, Opinion]


def table(found: list[Result], opinions: Opinions | None) -> Iterator[str]:
    """A line a trick: samples by language, found, named, and the first flags of those whose first is another."""
    theirs = " KernelBench: rejected | beyond | warned |" if opinions is not None else ""
    yield f"| # | trick | samples | languages | found | named | first | taken for |{theirs}"
    yield "| --- " * (8 + (3 if opinions is not None else 0)) + "|"
    for trick in Trick:
        mine = [result for result in found if result.sample.trick is trick]
        shown = [result for result in mine if result.sample.static]
        languages = Counter(language_of(result.sample.path).value for result in mine)
        others = Counter(
            result.first.value if result.first else "nothing" for result in shown if result.first is not trick
        )
        unseen = f" ({len(mine) - len(shown)} that no text shows)" if len(mine) > len(shown) else ""
        yield (
            f"| {trick.number} | {trick.value} | {len(mine)}{unseen} "
            f"| {', '.join(f'{count} {name}' for name, count in sorted(languages.items()))} "
            f"| {sum(result.found for result in shown)} | {sum(trick in result.named for result in shown)} "
            f"| {sum(result.first is trick for result in shown)} "
            f"| {', '.join(f'{name} ({count})' for name, count in sorted(others.items()))} |"
            + (_theirs(mine, opinions) if opinions is not None else "")
        )


def _theirs(mine: Sequence[Result], opinions: Opinions) -> str:
    said = [opinions[result.sample.name] for result in mine if result.sample.name in opinions]
    if not said:
        return " – | – | – |"
    rejected, beyond = sum(one.rejected for one in said), sum(one.beyond for one in said)
    return f" {rejected} of {len(said)} | {beyond} | {sum(one.warned for one in said)} |"


def summary(found: list[Result], seconds: float) -> Iterator[str]:
    """The figures that the corpus is held to."""
    cheats = [result for result in found if result.sample.trick is not None and result.sample.static]
    hidden = [result for result in found if result.sample.trick is not None and not result.sample.static]
    honest = [result for result in found if result.sample.trick is None]
    named = sum(result.sample.trick in result.named for result in cheats)
    first = sum(result.first is result.sample.trick for result in cheats)
    caught = sum(result.found for result in cheats)
    severe = [result for result in honest if result.severe]
    suspect = [result for result in honest if result.found]
    yield f"- Cheats that their text shows: {len(cheats)}. Found: {caught} ({caught / len(cheats):.1%})."
    yield f"- Right trick named: {named} ({named / len(cheats):.1%}); first of all flags: {first / len(cheats):.1%}."
    yield f"- Cheats that no text shows: {', '.join(sorted(one.sample.name for one in hidden)) or 'none'}."
    yield f"- Honest candidates: {len(honest)}. Severe: {len(severe)} ({len(severe) / len(honest):.1%})."
    yield f"- Honest ones with a suspicion: {', '.join(sorted(one.sample.name for one in suspect)) or 'none'}."
    yield f"- All of it took {seconds:.2f} s, {seconds / len(found) * 1e3:.1f} ms a file."
    pairs = len(Trick) * len(Language)
    yield (
        f"- Of {pairs} pairs of a trick and a language {pairs - len(CANNOT)} can be written, and each has a sample; "
        "the reasons of the others are in `tests/audit/languages.py`."
    )


def beside(found: list[Result], opinions: Opinions, digest: str) -> Iterator[str]:
    """What KernelBench's checker says of the same files, over all."""

    def share(chosen: Sequence[Result]) -> str:
        said = [opinions[one.sample.name] for one in chosen if one.sample.name in opinions]
        rejected, beyond = sum(one.rejected for one in said), sum(one.beyond for one in said)
        return (
            f"{len(said)}: {rejected} rejected ({rejected / len(said):.1%}), {beyond} ({beyond / len(said):.1%}) "
            f"for more than a missing kernel; {sum(one.warned for one in said)} more with a warning"
        )

    cheats = [result for result in found if result.sample.trick is not None and result.sample.static]
    honest = [result for result in found if result.sample.trick is None]
    yield f"KernelBench's static checker (`{digest}`, its defaults, FP32) reads Python alone. An en dash: no such file."
    yield ""
    yield f"- Cheats in Python, {share(cheats)}."
    yield f"- Honest candidates in Python, {share(honest)}."
    yield (
        "- It names no trick. Many cheats of the corpus have no kernel of their own, which it rejects whatever else "
        "they do; `beyond` counts the others."
    )
    words = Counter(word for one in honest for word in _of(opinions, one) if opinions[one.sample.name].rejected)
    yield "- Why it rejects honest ones: " + "; ".join(f"{word} ({n})" for word, n in words.most_common(5)) + "."
    yield f"- What its evaluation would say: –; {EVALUATION}."


def _of(opinions: Opinions, one: Result) -> tuple[str, ...]:
    return opinions[one.sample.name].words if one.sample.name in opinions else ()


def opinions_of(found: list[Result], checker: StaticChecker) -> dict[str, Opinion]:
    """The checker's opinion of every Python file by name."""
    python = [one.sample for one in found if language_of(one.sample.path) is Language.PY]
    return {sample.name: checker.opinion(sample.path.read_text("utf-8")) for sample in python}


def main() -> None:
    parser = argparse.ArgumentParser(description="The confusion table of the static audit.")
    parser.add_argument("-o", "--output", type=Path, help="write it as a document too")
    parser.add_argument("--kernelbench", type=Path, default=os.environ.get("KERNELBENCH") or None, metavar="SRC")
    options = parser.parse_args()
    began = time.perf_counter()
    found = results()
    seconds = time.perf_counter() - began
    checker = StaticChecker(Path(options.kernelbench)) if options.kernelbench else None
    opinions = opinions_of(found, checker) if checker is not None else None
    lines = ["Made by `make bench-audit`; nothing is executed. Its words: [audit.md](../audit.md).", ""]
    here = machine("")
    lines += [f"{here['cpu']}, {here['cores']} cores, Python {here['python']}, {here['date']}.", ""]
    lines += [*summary(found, seconds), ""]
    if checker is not None and opinions is not None:
        lines += [*beside(found, opinions, checker.digest), ""]
    else:
        lines += [
            "What KernelBench's own static checker says is left out: no checkout was given (`KERNELBENCH`).",
            "",
        ]
    lines += table(found, opinions)
    print("\n".join(lines))
    if options.output is not None:
        write_part(options.output, HEADING, lines)


if __name__ == "__main__":
    main()

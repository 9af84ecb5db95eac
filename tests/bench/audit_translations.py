"""Reference problems of KernelBench resubmitted as honest translations: no detector may call one severe.

    python -m tests.bench.audit_translations KERNELBENCH_FOLDER [--number 30] [-o docs/measurements/audit.md]

The folder is the one with ``level1`` to ``level3``; its problems are spread evenly over the levels. Each is traced in a
child, translated, and audited twice beside its problem's text: as the program, and as the Python file that
``mucutlass export`` writes. Nothing is built or run: at their own sizes these problems take minutes each on a CPU.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernels.candidates import emission_of
from kernels.errors import UserError
from kernels.export import export
from kernels.languages import Language
from kernels.problems.inspect import inspect_many
from kernels.problems.inspection import Inspection
from kernels.targets import Policy, Target
from kernels.translate import translate
from sol.audit import Flag, Severity, Subject, audit
from tests.bench.document import write_part

HEADING = "## KernelBench's problems as honest translations"
_SHARES = {"level1": 0.4, "level2": 0.4, "level3": 0.2}


@dataclass(frozen=True, slots=True)
class Audited:
    """One problem; ``error`` says why there is no program or no file. ``letters`` and ``seconds`` are of the file."""

    name: str
    program: tuple[Flag, ...] = ()
    exported: tuple[Flag, ...] | None = None
    letters: int = 0
    seconds: float = 0.0
    error: str = ""

    @property
    def severe(self) -> list[Flag]:
        """The severe flags of both."""
        return [flag for flag in (*self.program, *(self.exported or ())) if flag.severity is Severity.SEVERE]

    @property
    def suspect(self) -> list[Flag]:
        """The suspicions of both."""
        return [flag for flag in (*self.program, *(self.exported or ())) if flag.severity is Severity.SUSPECT]


def chosen(folder: Path, number: int) -> list[Path]:
    """So many problems, spread evenly over each level by their numbers."""
    found: list[Path] = []
    for level, share in _SHARES.items():
        paths, wanted = _in_order(folder / level), round(number * share)
        found += [paths[at * len(paths) // wanted] for at in range(wanted)] if paths else []
    return found


def instead(path: Path, taken: Sequence[Path]) -> Path | None:
    """The next problem of a level that was not taken yet, for one that could not be translated; None at the end."""
    paths = _in_order(path.parent)
    return next((each for each in paths[paths.index(path) :] if each not in taken), None)


def _in_order(folder: Path) -> list[Path]:
    """A level's problems by their numbers."""
    return sorted(folder.glob("*.py"), key=lambda path: int((re.match(r"\d+", path.name) or ["0"])[0]))


def audited(path: Path, inspection: Inspection) -> Audited:
    """A problem's translation, audited as a program and as an exported file."""
    name = f"{path.parent.name}/{path.stem}"
    text = path.read_text("utf-8")
    try:
        made = translate(path.stem, inspection, Target.HOST)
        subject = Subject(made.program, Language.MU, text, inspection.signature)
        program = audit(subject)
        emission = emission_of(made.program, Language.MU, inspection.signature, Target.HOST, Policy.TF32)
        file = export(emission, ("translated", path.stem), text, inspection, None)
        began = time.process_time()
        exported = audit(Subject(file, Language.PY, text, inspection.signature))
    except UserError as error:
        return Audited(name, error=f"{error.slug()}: {error}")
    return Audited(name, program, exported, len(file), time.process_time() - began)


def report(found: Sequence[Audited]) -> Iterator[str]:
    """Counts first, then what was suspected, by detector and trick."""
    done = [one for one in found if not one.error]
    severe = [one for one in done if one.severe]
    largest = max((one.letters for one in done), default=0)
    slowest = max((one.seconds for one in done), default=0.0)
    yield f"Made by `python -m tests.bench.audit_translations`: {len(found)} problems of levels 1 to 3, by number."
    yield "The program and the exported file of each, static alone: at their own sizes they take minutes on a CPU."
    yield ""
    yield f"- Translated, exported and audited: {len(done)} of {len(found)}. With a severe flag: {len(severe)}."
    for one in severe:
        yield f"- Severe: {one.name}: {'; '.join(f'{flag.trick.value} ({flag.detector})' for flag in one.severe)}."
    for one in found:
        if one.error:
            yield f"- Not audited: {one.name}: {one.error}."
    counts = Counter(
        f"{flag.trick.value} ({flag.detector})"
        for one in done
        for flag in {f.trick: f for f in one.suspect}.values()
    )
    told = "; ".join(f"{words} in {times}" for words, times in counts.most_common()) or "none"
    yield f"- Suspicions, by trick and detector: {told}."
    yield f"- The largest exported file has {largest:,} letters; the slowest took {slowest:.2f} s of processor time."


def looked_at(paths: Sequence[Path]) -> list[Audited]:
    """The problems, traced in children and audited; told as they are done."""
    found: dict[int, Audited] = {}

    def seen(place: int, answer: Inspection | Exception) -> None:
        name = f"{paths[place].parent.name}/{paths[place].stem}"
        if isinstance(answer, UserError):
            found[place] = Audited(name, error=f"{answer.slug()}: {answer}")
        elif isinstance(answer, Exception):
            raise answer
        else:
            found[place] = audited(paths[place], answer)
        print(f"{name}: {found[place].error or [flag.trick.value for flag in found[place].severe]}", flush=True)

    inspect_many(paths, "default", seen=seen)
    return [found[place] for place in range(len(paths))]


def main() -> None:
    parser = argparse.ArgumentParser(description="Audit honest translations of KernelBench's problems.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--number", type=int, default=30)
    parser.add_argument("-o", "--output", type=Path, help="write it as a part of a document too")
    options = parser.parse_args()
    paths = chosen(options.folder, options.number)
    found = looked_at(paths)
    for path in [path for one, path in zip(found, list(paths), strict=True) if one.error]:
        other = instead(path, paths)
        if other is not None:
            paths.append(other)
            found += looked_at([other])
    lines = list(report(sorted(found, key=lambda one: one.name)))
    print("\n".join(lines))
    if options.output is not None:
        write_part(options.output, HEADING, lines)


if __name__ == "__main__":
    main()

"""Reading what a command line names: programs, problems, signatures."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kernels.candidates import NothingToBuild
from kernels.codegen import emit
from kernels.codegen.emission import Emission
from kernels.dsl import CheckedProgram, Program, check, parse
from kernels.dtypes import DType
from kernels.languages import Language, check_target, language_of
from kernels.problems.files import DEFAULT_SIZE, find_problems, read_problem
from kernels.problems.inspect import inspect
from kernels.problems.inspection import Inspection, Signature, TensorSpec
from kernels.raw import emit_raw
from kernels.targets import Policy, Target
from mucutlass_web.cli.errors import FileNotReadable, ProblemNeeded, SymbolsUnbound


@dataclass(frozen=True, slots=True)
class Source:
    """A program file and its text."""

    path: Path
    text: str


def read_source(path: Path) -> Source:
    """The text of a program file; ``-`` is standard input."""
    try:
        return Source(path, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FileNotReadable(path=path, why=why) from None


def named_problems(path: Path) -> Iterator[tuple[str, Path]]:
    """A problem file, or every one of a folder, with a short name: ``L1/23``, or the file's."""
    if path.is_dir():
        for found in find_problems(path):
            yield (f"L{found.level}/{found.number}" if found.level is not None else found.name), found.path
    else:
        yield path.stem, path


def size_of(problem: Path, wanted: str | None, target: Target) -> str:
    """The size to use: the one asked for, else the target's own, else the only one."""
    sizes = read_problem(problem).sizes
    preferred = wanted or ("gpu" if target.is_cuda else "cpu")
    if preferred in sizes or wanted:
        return preferred
    return sizes[0] if sizes else DEFAULT_SIZE


def inspect_problem(
    problem: Path, wanted: str | None, target: Target, *, cancelled: Callable[[], bool] | None = None
) -> Inspection:
    """The problem's inspection, made in a child process."""
    return inspect(problem, size_of(problem, wanted, target), cancelled=cancelled)


def declared_signature(source: Source, program: Program) -> Signature:
    """The signature a program declares itself; SymbolsUnbound where an extent is a symbol."""

    def specs(named: list[tuple[str, str, tuple[int | str, ...]]]) -> tuple[TensorSpec, ...]:
        found = []
        for name, dtype, shape in named:
            for extent in shape:
                if isinstance(extent, str):
                    raise SymbolsUnbound(path=source.path, symbol=extent)
            found.append(TensorSpec(name, DType(dtype), tuple(int(extent) for extent in shape)))
        return tuple(found)

    return Signature(
        inputs=specs([(p.name, p.type.dtype, p.type.shape) for p in program.parameters]),
        parameters=(),
        outputs=specs([(f"output{i}", r.dtype, r.shape) for i, r in enumerate(program.results)]),
        constants={},
    )


def emission_of_file(options: Namespace) -> Emission:
    """What ``emit`` and ``build`` are about: a checked program's code, or a hand-written source with its header.

    Raises ProgramErrors, and the errors of ``kernels.candidates``; ProblemNeeded for a source that has no sizes.
    """
    source, language, target = read_source(options.file), language_of(options.file), options.arch
    if language is Language.MU:
        return emit(checked_program(source, options.problem, options.size, target, options.policy))
    check_target(language, target)
    if language is Language.PY:
        raise NothingToBuild(language=language.value)
    if options.problem is None:
        raise ProblemNeeded(path=options.file)
    signature = inspect_problem(options.problem, options.size, target).signature
    return emit_raw(source.text, language, signature, target)


def checked_program(
    source: Source, problem: Path | None, size: str | None, target: Target, policy: Policy
) -> CheckedProgram:
    """Parse and check a program against a problem, or against the sizes it declares."""
    program = parse(source.text)
    if problem is None:
        signature = declared_signature(source, program)
    else:
        signature = inspect_problem(problem, size, target).signature
    return check(program, signature, target, policy)

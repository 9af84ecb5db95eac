"""Figures of runs line by line over their common problems; in a cell's second text the same with held times counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.urls import reverse

from runs import figures, words
from runs.charts.fast_p import signed_area
from runs.comparing import cells
from runs.comparing.cells import Cell, Group, Line, Sense
from runs.comparing.run_figures import Figures
from runs.comparing.run_sides import RunSide
from runs.comparing.spent import NO_JOB, NO_MODEL

AT = (1.0, 1.5, 2.0)
"""The ratios at which Fast_p and Attempt-Fast_p are told."""
_NONE = "no common problem is counted"
Runs = Sequence[RunSide]


def results(found: Runs, attempts: int) -> Group:
    """What the runs reached; differences stand only beside what can be compared."""
    apart = ["", *(side.apart_from(found[0]) for side in found[1:])]

    def line(
        name: str, of: Callable[[Figures], float | None], text: Callable[[float], str], sense: Sense,
        hint: str, *, points: bool = False,
    ) -> Line:  # fmt: skip
        claimed = [_with_held(side, of, text) for side in found]
        return cells.numbers(name, [of(side.figures) for side in found], text, sense, hint=hint, why=_NONE,
                             apart=apart, points=points, beside=claimed)  # fmt: skip

    share, counted = figures.percent, figures.counted(attempts, "attempt")
    lines = [
        line("Geomean speedup", lambda f: f.geomean, figures.ratio, cells.SPEED, "over torch eager"),
        line("Median speedup", lambda f: f.median, figures.ratio, cells.SPEED, "over torch eager"),
        *(line(f"Fast_{r:g}", _fast(r), share, cells.AMOUNT, f"share at {figures.ratio(r)} or more", points=True)
          for r in AT),
        *(line(f"Attempt-Fast_{r:g}", _fast(r, attempts), share, cells.AMOUNT,
               f"share at {figures.ratio(r)} within {counted}", points=True) for r in AT),
        line("Geomean within", lambda f: f.geomean_within(attempts), figures.ratio, cells.SPEED,
             f"best of the first {counted}"),
        _area(found, apart),
        line("Gap to SOL", lambda f: f.gap, figures.ratio, cells.GAP, "geomean of best ÷ SOL"),
        line("Near SOL", lambda f: f.near, _count, cells.COUNT, "problems within ε"),
        line("With a kernel that counts", lambda f: f.with_kernel, _count, cells.COUNT, "problems"),
    ]  # fmt: skip
    return Group("What they reached, on the common problems", tuple(lines))


def costs(found: Runs) -> Group:
    """What that took, on the same problems."""
    spent = [side.spent for side in found]
    currencies = {one.currency for one in spent if one.cost is not None}
    other = "" if len(currencies) < 2 else "not comparable: another currency"
    seconds = (
        ("Model time", [one.model_s for one in spent], "asking, waiting for its rates included", NO_MODEL),
        ("Build time", [one.build_s for one in spent], "compiling", NO_JOB),
        ("Evaluation time", [one.evaluate_s for one in spent], "checking and timing", NO_JOB),
        ("Other work", [one.other_s for one in spent], "bounds, choosing, profiles", NO_JOB),
    )
    lines = [
        _counted("Attempts", [side.figures.attempts for side in found], "ended"),
        _counted("Passed and counted", [side.figures.passed for side in found], "attempts"),
        _counted("Held", [side.figures.held for side in found], "attempts whose times do not count"),
        cells.numbers("Tokens", [one.tokens for one in spent], lambda value: figures.scaled(value, ""), cells.AMOUNT,
                      hint="prompt and completion", why=[one.why_no_tokens for one in spent]),
        Line("Cost", tuple(
            Cell(figures.money(one.cost, one.currency) if one.cost is not None else None, one.why_no_cost,
                 cells.difference(one.cost, spent[0].cost, cells.AMOUNT) if at and not other else "",
                 other if at and one.cost is not None else "", value=one.cost)
            for at, one in enumerate(spent)
        ), number=True),
        _efficiency(found),
        *(cells.numbers(name, values, figures.duration, cells.SPAN, hint=hint, why=why,
                        beside=_shares(values, [one.total_s for one in spent]))
          for name, values, hint, why in seconds),
        cells.numbers("From start to end", [side.board.seconds for side in found], figures.duration, cells.SPAN,
                      hint="the whole run", why="not started"),
    ]  # fmt: skip
    return Group("What it took", tuple(lines))


def settings(found: Runs) -> Group:
    """How they were launched, and how they ended."""
    run = [side.run for side in found]
    return Group(
        "How they were launched",
        (
            Line("Launched by", tuple(Cell(one.owner.get_username()) for one in run)),
            cells.texts("State", [side.word.text for side in found]),
            Line("Problems", tuple(
                Cell(f"{len(side.rows)}", address=reverse("run", args=[side.run.pk])) for side in found)),
            cells.texts("Target", [one.target for one in run]),
            cells.texts("Device", [side.board.device for side in found], why="not known before a problem is prepared"),
            cells.texts("Precision policy", [one.policy for one in run]),
            cells.texts("Tolerance", [one.tolerance for one in run]),
            cells.texts("Controller", [words.CONTROLLERS.get(one.controller, one.controller) for one in run]),
            cells.texts("Proposer", [words.proposer_name(one.proposer) for one in run]),
            cells.texts("Writes", [one.written for one in run]),
            cells.texts("Attempts a problem", [f"{one.attempts}" for one in run]),
            cells.texts("Pool of attempts", [f"{one.pool}" if one.pool else None for one in run], why="none"),
            cells.texts("Stops within", [figures.percent(one.epsilon) if one.epsilon is not None else None
                                         for one in run], hint="ε of SOL", why="that rule is off"),
            cells.texts("Patience", [f"{one.patience}" if one.patience else None for one in run],
                        hint="attempts without progress", why="that rule is off"),
            cells.texts("Steered by SOL", ["yes" if one.steering else "no" for one in run]),
            cells.texts("Memory of lessons", ["yes" if one.memory else "no" for one in run]),
            cells.texts("Baselines", [one.baselines for one in run]),
            cells.texts("Seed", [f"{one.seed}" for one in run]),
        ),
    )  # fmt: skip


def by_group(found: Runs, title: str, names: dict[str, str], none: str) -> Group:
    """Geomean and Fast_1 of the problems of each name; those without a name stand under ``none``."""
    members: dict[str, list[str]] = {}
    for slug in found[0].counted:
        members.setdefault(names.get(slug) or none, []).append(slug)
    apart = ["", *(side.apart_from(found[0]) for side in found[1:])]
    lines = []
    for name, slugs in sorted(members.items(), key=lambda item: (item[0] == none, item[0])):
        made = [side.figures_of(slugs) for side in found]
        fast = [f"Fast_1 {figures.percent(one.fast(1.0) or 0.0)}" for one in made]
        lines.append(cells.numbers(name, [one.geomean for one in made], figures.ratio, cells.SPEED,
                                   hint=figures.counted(len(slugs), "problem"), apart=apart, beside=fast))  # fmt: skip
    return Group(title, tuple(lines))


def _fast(r: float, attempts: int | None = None) -> Callable[[Figures], float | None]:
    """Fast_p(r), or Attempt-Fast_p(r) within so many attempts."""
    return lambda of: of.fast(r) if attempts is None else of.attempt_fast(r, attempts)


def _with_held(side: RunSide, of: Callable[[Figures], float | None], text: Callable[[float], str]) -> str:
    """The figure if every held time counted; empty where none is held."""
    value = of(side.claimed) if side.figures.held else None
    return f"{text(value)} with held times" if value is not None else ""


def _area(found: Runs, apart: Sequence[str]) -> Line:
    base = found[0]
    made = []
    for at, side in enumerate(found):
        area = signed_area(base.figures.readings, side.figures.readings)
        held = signed_area(base.claimed.readings, side.claimed.readings)
        any_held = side.figures.held or base.figures.held
        if not at or area is None:
            made.append(Cell(None, "the baseline itself" if not at else _NONE))
        elif apart[at]:
            made.append(Cell(None, apart[at], note=apart[at]))
        else:
            word = "more won" if area > 0.0005 else ("less won" if area < -0.0005 else "the same")
            beside = f"{_signed(held)} with held times" if any_held and held is not None else ""
            made.append(Cell(_signed(area), delta=word, beside=beside, value=area))
    return Line("Signed area", tuple(made), "doublings won on the mean problem", number=True)


def _signed(value: float) -> str:
    text = figures.significant(round(value, 3))
    return f"+{text}" if value > 0 else text


def _efficiency(found: Runs) -> Line:
    """(geomean ÷ the baseline's) · (the baseline's tokens ÷ its own); above 1 the tokens bought more."""
    base, made = found[0], []
    for at, side in enumerate(found):
        mine, theirs = side.figures.geomean, base.figures.geomean
        tokens, base_tokens = side.spent.tokens, base.spent.tokens
        why = side.apart_from(base) or "tokens or speedups of both are not known"
        if not at:
            made.append(Cell(None, "the baseline itself"))
        elif mine and theirs and tokens and base_tokens and not side.apart_from(base):
            value = mine / theirs * base_tokens / tokens
            made.append(Cell(figures.ratio(value), delta="better" if value > 1 else "worse", value=value))
        else:
            made.append(Cell(None, why))
    return Line("Efficiency gain", tuple(made), "speedup a token, over the baseline’s", number=True)


def _counted(name: str, values: Sequence[int], hint: str) -> Line:
    return cells.numbers(name, values, _count, cells.COUNT, hint=hint)


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _shares(values: Sequence[float | None], totals: Sequence[float | None]) -> list[str]:
    return [f"{figures.percent(v / t)} of its work" if v and t else "" for v, t in zip(values, totals, strict=True)]

"""Lessons as the page lists them: filters of the address with their counts, and where each lesson came from."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, QuerySet
from django.http import QueryDict

from runs.headroom import Choice, Group
from runs.lesson_models import Lesson, LessonSource

PAGE = 50
STATES = {"in_use": "in use", "retired": "retired"}
_COLUMNS = (("kind", "Operation"), ("target", "Target"), ("bottleneck", "Bound by"), ("source", "Learned from"))


@dataclass(frozen=True, slots=True)
class LessonFilters:
    """What a reader filters by. An empty text or tuple filters nothing."""

    text: str = ""
    states: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    bottleneck: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    run: int | None = None

    @classmethod
    def of(cls, get: QueryDict) -> LessonFilters:
        """The filters in the address; what they do not know is passed over."""
        run = get.get("run", "")
        return cls(
            text=get.get("q", "").strip(),
            states=tuple(value for value in get.getlist("state") if value in STATES),
            kind=tuple(get.getlist("kind")),
            target=tuple(get.getlist("target")),
            bottleneck=tuple(get.getlist("bottleneck")),
            source=tuple(get.getlist("source")),
            run=int(run) if run.isascii() and run.isdigit() and len(run) < 19 else None,
        )

    def __bool__(self) -> bool:
        return bool(self.words())

    def words(self) -> list[str]:
        """The filters as a reader would say them."""
        states = tuple(STATES[value] for value in self.states)
        sources = tuple(LessonSource(value).label for value in self.source if value in LessonSource.values)
        named = (("state", states), ("operation", self.kind), ("target", self.target), ("bound by", self.bottleneck),
                 ("learned from", sources or self.source))  # fmt: skip
        found = [f"{name} {' or '.join(values)}" for name, values in named if values]
        if self.run is not None:
            found.insert(0, f"run r-{self.run}")
        return [f"text or problem has “{self.text}”", *found] if self.text else found

    def query(self) -> Q:
        """The filters as the database reads them."""
        query = Q()
        for word in self.text.split():
            query &= Q(text__icontains=word) | Q(problem__slug__icontains=word) | Q(problem__name__icontains=word)
        if len(self.states) == 1:
            query &= Q(retired__isnull=self.states[0] == "in_use")
        for column, _ in _COLUMNS:
            values: tuple[str, ...] = getattr(self, column)
            if values:
                query &= Q(**{f"{column}__in": values})
        return query if self.run is None else query & Q(trajectory__run_id=self.run)


def lesson_page(filters: LessonFilters, number: str | None) -> Page[Lesson]:
    """One page of lessons, newest first, each with how many trajectories were given it."""
    return Paginator(lessons().filter(filters.query()).order_by("-pk"), PAGE).get_page(number)


def lessons() -> QuerySet[Lesson]:
    """Lessons with where they came from and ``given``: how many trajectories were given each."""
    return (
        Lesson.objects.select_related("problem", "trajectory__run__owner", "attempt")
        .defer("problem__source", "problem__summary", "trajectory__bounds", "trajectory__seed_program")
        .annotate(given=Count("uses"))
    )


def lesson_groups(filters: LessonFilters) -> list[Group]:
    """Each filter with its values and how many lessons it would leave with the others as they are. A query each."""
    found = [_states(filters)]
    for column, title in _COLUMNS:
        chosen: tuple[str, ...] = getattr(filters, column)
        others: dict[str, tuple[str, ...]] = {column: ()}
        left = Lesson.objects.filter(replace(filters, **others).query()).order_by()  # type: ignore[arg-type]
        counts = dict.fromkeys(sorted({*Lesson.objects.order_by().values_list(column, flat=True), *chosen}), 0)
        counts.update(left.values_list(column).annotate(n=Count("id")))
        labels = dict(LessonSource.choices) if column == "source" else {}
        choices = tuple(
            Choice(value, str(labels.get(value, value.replace("_", " "))), count, value in chosen)
            for value, count in counts.items()
            if value
        )
        if choices:
            found.append(Group(column, title, choices))
    return found


def _states(filters: LessonFilters) -> Group:
    left = Lesson.objects.filter(replace(filters, states=()).query())
    retired = left.exclude(retired=None).count()
    counts = {"in_use": left.count() - retired, "retired": retired}
    choices = tuple(Choice(value, label, counts[value], value in filters.states) for value, label in STATES.items())
    return Group("state", "State", choices)

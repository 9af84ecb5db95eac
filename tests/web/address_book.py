"""Every page of the product with something on it: a small world, and the address of each page in it by its name."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.urls import URLResolver, get_resolver

from kernels.harness.evaluation import Outcome
from runs import talking
from runs.archive.shipped import import_recorded
from runs.models import Attempt, Grid, Run, Trajectory
from sol.audit import Evidence, Flag, Place, Severity, Trick
from sol.cases import raise_flags
from sol.models import Case
from tests.web import gallery, rows
from tests.web.people_rows import team

SEVERE = Flag(
    "caches", Trick.CACHE_BY_POINTER, Severity.SEVERE, 0.9,
    Evidence("an answer is kept by data_ptr()", (Place(2, 3),), {"time_s": 0.0003}),
)  # fmt: skip
MILD = Flag("precision", Trick.LOWER_PRECISION, Severity.SUSPECT, 0.4, Evidence("a cast to half", (Place(4, 4),)))

NO_PAGE = frozenset({
    # Forms that are sent, files, and pieces of a page.
    "sign-out", "enter", "audit-lines", "runs-new-summary", "run-live", "run-chart", "run-numbers", "run-csv",
    "run-gap-figures", "run-gap-csv", "run-gap-numbers", "run-audit-json", "run-audit-csv", "run-cancel", "run-pause",
    "run-resume", "run-retry", "run-budget", "run-stop", "run-replay-chart", "run-replay-csv", "transcript-json",
    "candidate-code", "candidate-source", "candidate-object", "candidate-remark", "candidate-reviewed",
    "candidate-state", "candidate-listing", "candidate-disassemble", "candidate-export", "candidate-profile",
    "candidate-audit", "candidate-profile-make", "candidate-profile-file", "candidate-cross-build", "kernels-csv",
    "kernels-best-csv", "kernels-record-chart", "kernels-record-csv", "lesson-edit", "lesson-retire",
    "lesson-restore", "triage-filters", "triage-undo", "triage-settle", "triage-comment", "triage-assign",
    "sso-start", "sso-callback", "join", "person-role", "person-deactivate", "person-reactivate",
    "person-token-revoke", "team-rename", "team-member", "team-delete", "invitation-revoke", "ledger-csv",
    "fleet-live", "worker-drain", "worker-undrain", "worker-remove", "job-requeue",
    "run-export", "run-delete", "compare-csv", "compare-figures", "compare-numbers", "preset-delete",
    "api-openapi", "remark-withdraw", "token-revoke", "playground-check",
})  # fmt: skip
"""Names of addresses that are no pages of their own."""


class World:
    """Some runs of one owner with flags, remarks and a huge one among them."""

    def __init__(self, owner: User) -> None:
        self.owner = owner
        self.run: Run = gallery.near_sol(owner)
        self.huge: Run = gallery.huge(owner, 8, 6)
        self.hostile: Run = gallery.hostile(owner)
        (self.recorded,) = import_recorded(owner)
        self.best: Attempt = Attempt.objects.filter(trajectory__run=self.run, new_best=True).order_by("-pk")[0]
        self.trajectory: Trajectory = self.best.trajectory
        first = self.huge.trajectories.order_by("pk")[0]
        self.below = gallery.attempt(first, 7, Outcome.PASSED, 0.3 * (first.sol_s or 0.0))
        self.team = team("Gemm", owner)
        self.grid = Grid.objects.create(owner=owner, title="two seeds")
        Run.objects.filter(pk__in=[self.run.pk, self.huge.pk]).update(grid=self.grid)
        self.case = self._raise(self.best, SEVERE)
        self._raise(self.below, MILD)
        remark = talking.say(self.best, owner, "why 128?\n@alice", talking.Spot("", 4))
        assert remark.pk

    def _raise(self, on: Attempt, flag: Flag) -> Case:
        found = raise_flags(on.kernel, on.trajectory.problem, [flag], on.evaluation)
        assert found is not None
        return found

    def _recorded_slug(self) -> str:
        return self.recorded.trajectories.select_related("problem")[0].problem.slug

    def pages(self) -> dict[str, str]:
        """The address of each page, by its name; a name with a dot is another state of the page before the dot."""
        run, slug, best = f"/runs/{self.run.pk}/", self.trajectory.problem.slug, self.best
        return {
            "home": "/",
            "runs-list": "/runs/",
            "runs-new": "/runs/new/",
            "run": run,
            "run.huge": f"/runs/{self.huge.pk}/",
            "run.hostile": f"/runs/{self.hostile.pk}/",
            "run.imported": f"/runs/{self.recorded.pk}/",
            "run-import": "/runs/import/",
            "run-gap": f"{run}gap/",
            "run-attempts": f"{run}attempts/",
            "run-audit": f"{run}audit/",
            "run-replay": f"{run}replay/",
            "transcript": f"{run}{slug}/transcript/",
            "candidate": f"{run}{slug}/{best.number}/",
            "candidate.imported": f"/runs/{self.recorded.pk}/{self._recorded_slug()}/1/",
            "candidate.held": (f"/runs/{self.huge.pk}/{self.below.trajectory.problem.slug}/{self.below.number}/"),
            "problems-list": "/problems/",
            "problem": f"/problems/{slug}/",
            "problem-sol": f"/problems/{slug}/sol/",
            "problem-audit": f"/problems/{slug}/audit/",
            "audit-files": "/audit/",
            "kernels": "/kernels/",
            "kernels-best": "/kernels/best/",
            "kernels-record": f"/kernels/record/{slug}/",
            "kernel": f"/kernels/{best.kernel}/",
            "lessons": "/lessons/",
            "triage": "/triage/",
            "triage-case": f"/triage/{self.case.pk}/",
            "compare": f"/compare/?c={best.pk}&c={self.below.pk}&all=1",
            "compare.runs": f"/compare/?r={self.run.pk}&r={self.huge.pk}",
            "grids": "/grids/",
            "grid": f"/grids/{self.grid.pk}/",
            "api": "/api/",
            "mentions": "/account/mentions/",
            "tokens": "/account/tokens/",
            "playground": "/playground/",
            "feedback": "/feedback/",
            "fleet": "/fleet/",
            "people": "/people/",
            "person": f"/people/{self.owner.pk}/",
            "teams": "/people/teams/",
            "team": f"/people/teams/{self.team.pk}/",
            "invitations": "/people/invitations/",
            "ledger": "/people/log/",
            "search": "/search/?q=gemm",
        }


def names(resolver: URLResolver | None = None) -> set[str]:
    """The names of all addresses but those of the HTTP API."""
    found: set[str] = set()
    for pattern in (resolver or get_resolver()).url_patterns:
        if isinstance(pattern, URLResolver):
            if str(pattern.pattern) != "api/v1/":
                found |= names(pattern)
        elif pattern.name:
            found.add(pattern.name)
    return found


__all__ = ["NO_PAGE", "World", "names", "rows"]

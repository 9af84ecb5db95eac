"""Every address for everybody: nobody, a viewer, a runner, the owner, a reviewer and an admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse

from runs import invitations, talking, tokens
from runs.api_models import Scope
from runs.models import Attempt, Grid, Job, Lesson, Preset, Run
from runs.roles import Role
from runs.states import JobKind, JobState
from sol.audit import Evidence, Flag, Place, Severity, Trick
from sol.cases import raise_flags
from tests.people.rights import MORE, POST, RULES, Least, Rule
from tests.web import gallery, histories
from tests.web.address_book import names
from tests.web.people_rows import browser_of, member, team
from tests.web.reading import text_of

PERSONAS = {
    "nobody": None, "viewer": Role.VIEWER, "runner": Role.RUNNER, "owner": Role.RUNNER, "reviewer": Role.REVIEWER,
    "admin": Role.ADMIN, "demoted owner": Role.VIEWER,
}  # fmt: skip
RANK = {
    Least.MEMBER: Role.VIEWER,
    Least.RUNNER: Role.RUNNER,
    Least.REVIEWER: Role.REVIEWER,
    Least.ADMIN: Role.ADMIN,
}


def test_every_address_has_a_rule() -> None:
    """A new address gets its line in ``tests.people.rights``, one that is gone loses it."""
    assert names() == set(RULES)


class World:
    """A run, and one of everything else that an address may name."""

    def __init__(self, owner: User, asker: User) -> None:
        self.run: Run = gallery.near_sol(owner)
        best = self.run.trajectories.get().best
        assert best is not None
        self.best: Attempt = best
        flag = Flag("caches", Trick.CACHE_BY_POINTER, Severity.SEVERE, 0.9, Evidence("kept", (Place(2, 3),)))
        case = raise_flags(best.kernel, best.trajectory.problem, [flag], best.evaluation)
        assert case is not None
        worker = gallery.worker("cpu-1", "cpu", seconds_ago=900)
        job = gallery.job(best.trajectory, JobKind.BUILD, "cpu", best, JobState.CLAIMED)
        Job.objects.filter(pk=job.pk).update(tries=1)
        token, _ = tokens.make(asker, "agent", Scope.READ, 7)
        other, _ = tokens.make(owner, "agent", Scope.READ, 7)
        invitation, self.secret = invitations.make(owner, "viewer", None, 7, 5)
        lesson: Lesson = histories.lesson(best.trajectory)
        self.keys: dict[str, int] = {
            "run": self.run.pk, "transcript": self.run.pk, "candidate": self.run.pk, "lesson": lesson.pk,
            "triage": case.pk, "person": owner.pk, "team": team("Team", owner).pk, "invitation": invitation.pk,
            "worker": worker.pk, "job": job.pk, "token": token.pk,
            "remark": talking.say(best, asker, "why 128?", talking.Spot("", 4)).pk,
            "preset": Preset.objects.create(name="mine", owner=asker).pk,
            "grid": Grid.objects.create(title="grid", owner=owner).pk,
            "audit": 999,  # not there: whoever may look is told so
        }  # fmt: skip
        self.words: dict[str, Any] = {
            "slug": best.trajectory.problem.slug, "number": best.number, "unit": "0", "kind": "ptx",
            "target": "host", "row": 1, "form": "json", "call": 1, "tool": "sol", "key": "fast-p",
            "name": str(best.kernel), "secret": self.secret, "token": other.pk,
        }  # fmt: skip

    def address(self, name: str) -> str:
        """The address of a name, with this world's rows in it."""
        wanted = _parameters(name)
        return reverse(name, kwargs={key: self._value(name, key) for key in wanted})

    def _value(self, name: str, key: str) -> Any:
        return self.keys[name.split("-")[0]] if key == "pk" else self.words[key]


def _parameters(name: str, resolver: URLResolver | None = None) -> list[str]:
    for pattern in (resolver or get_resolver()).url_patterns:
        if isinstance(pattern, URLResolver):
            found = _parameters(name, pattern)
            if found != ["?"]:
                return found
        elif pattern.name == name:
            return list(pattern.pattern.converters)
    return ["?"]


def allowed(persona: str, rule: Rule) -> bool:
    role = PERSONAS[persona]
    if rule.least is Least.ANYBODY:
        return True
    if role is None:
        return False
    if rule.least is Least.OWNER:
        return persona in ("owner", "admin")
    return role.rank >= RANK[rule.least].rank


def verdict(response: Any) -> str:
    """In or out, as the answer says it."""
    if response.status_code == 302 and response.headers["Location"].startswith("/sign-in/?next="):
        return "sign in"
    if response.status_code == 403:
        return "refused"
    return "in" if response.status_code < 500 and response.status_code != 405 else f"broken {response.status_code}"


@pytest.mark.django_db
@pytest.mark.parametrize("persona", PERSONAS)
def test_everybody_reaches_what_they_may_and_nothing_else(persona: str) -> None:
    owner = member(
        "olga", Role.ADMIN if persona == "admin" else Role.VIEWER if "demoted" in persona else Role.RUNNER
    )
    role = PERSONAS[persona]
    asker = owner if "owner" in persona else member("asker", role or Role.RUNNER)
    world = World(owner, asker)
    cases = [(name, name, rule) for name, rule in RULES.items()]
    cases += [(words, name, rule) for words, (name, rule) in MORE.items()]
    wrong = {}
    for words, name, rule in cases:
        if name.startswith("sso-"):
            continue  # off here: tests.people.test_sso
        client = browser_of(asker) if role is not None else Client()
        with transaction.atomic():
            send = client.post if rule.method == POST else client.get
            response = send(world.address(name), dict(rule.data))
            found = verdict(response)
            if found == "refused" and persona != "nobody":
                found = found if _in_words(response) else "refused without words"
            transaction.set_rollback(True)
        right = "in" if allowed(persona, rule) else ("sign in" if role is None else "refused")
        if found != right:
            wrong[words] = f"{found} {response.status_code}, not {right}"
    assert not wrong


def _in_words(response: Any) -> bool:
    text = text_of(response)
    return any(said in text for said in ("It takes the role", "belongs to", "was learned by", "wrote", "may "))


@pytest.mark.django_db
class TestByToken:
    """A token acts with its owner's role."""

    @pytest.mark.parametrize(("role", "status"), [(Role.VIEWER, 403), (Role.RUNNER, 201), (Role.ADMIN, 201)])
    def test_starting_a_run(self, role: Role, status: int) -> None:
        on = gallery.problem(1)
        _, secret = tokens.make(member("asker", role), "agent", Scope.SUBMIT, 7)
        answer = Client().post(
            "/api/v1/runs", {"problems": [on.slug]},
            "application/json", HTTP_AUTHORIZATION=f"Bearer {secret}",
        )  # fmt: skip
        assert answer.status_code == status
        if status == 403:
            assert (
                "It takes the role runner to launch runs and measure kernels; yours is viewer."
                in answer.json()["detail"]
            )

    @pytest.mark.parametrize(("role", "status"), [(Role.RUNNER, 403), (Role.REVIEWER, 403), (Role.ADMIN, 200)])
    def test_cancelling_somebody_elses_run(self, role: Role, status: int) -> None:
        run = gallery.mid_flight(member("olga", Role.RUNNER))
        _, secret = tokens.make(member("asker", role), "agent", Scope.SUBMIT, 7)
        answer = Client().post(f"/api/v1/runs/{run.pk}/cancel", HTTP_AUTHORIZATION=f"Bearer {secret}")
        assert answer.status_code == status

    def test_an_owner_who_became_a_viewer_cancels_no_more(self) -> None:
        owner = member("olga", Role.VIEWER)
        run = gallery.mid_flight(owner)
        _, secret = tokens.make(owner, "agent", Scope.SUBMIT, 7)
        answer = Client().post(f"/api/v1/runs/{run.pk}/cancel", HTTP_AUTHORIZATION=f"Bearer {secret}")
        assert answer.status_code == 403


@pytest.mark.django_db
def test_a_viewers_pages_have_no_button_that_refuses() -> None:
    owner, vera = member("olga", Role.RUNNER), member("vera", Role.VIEWER)
    world = World(owner, vera)
    client = browser_of(vera)
    for name in (
        "runs-list",
        "run",
        "candidate",
        "lesson",
        "problems-list",
        "problem",
        "people",
        "person",
        "team",
        "fleet",
    ):
        page = client.get(world.address(name)).content.decode()
        for refused, rule in RULES.items():
            if rule.least not in (Least.ANYBODY, Least.MEMBER) and not _parameters(refused):
                assert f'href="{reverse(refused)}' not in page, f"{name} links to {refused}"
            if rule.method == POST and rule.least not in (Least.ANYBODY, Least.MEMBER):
                assert f'action="{world.address(refused)}"' not in page, f"{name} offers {refused}"

"""Kill what can be killed in mid-run: every run ends, no attempt is lost or counted twice, nothing runs for ever."""

from __future__ import annotations

import pytest

from tests.stack.stack import LAUNCH, Stack

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]

_DONE = "SELECT count(*) >= {count} FROM runs_attempt WHERE state = 'done'"
_OVER = "SELECT state FROM runs_run WHERE id = {run} AND state IN ('done', 'failed', 'cancelled')"
_COUNTS = """
answer = []
for t in Trajectory.objects.filter(run={run}):
    measured = [e.record["number"] for e in Event.objects.filter(trajectory=t, kind="measured")]
    answer.append([list(t.attempts.values_list("number", flat=True)), measured, t.attempts_done])
"""
_LIVING = """
living = Job.objects.filter(run={run}, state__in=["queued", "claimed"]).exclude(queue="later")
answer = list(living.values_list("kind", flat=True))
"""


def test_a_run_survives_the_death_of_every_part(fresh_stack: Stack) -> None:
    stack = fresh_stack
    run = stack.ask(LAUNCH.format(slugs=["own/1", "own/2"], attempts=4))
    stack.wait_for(_DONE.format(count=1), 120)
    assert stack.kill_part("manage.py worker host") >= 1
    stack.wait_for(_DONE.format(count=2), 120)
    assert stack.kill_part("unixsocket") + stack.kill_part("broker.sock") >= 1
    stack.wait_for(_DONE.format(count=3), 120)
    assert stack.kill_part("gunicorn") >= 1
    assert stack.kill_part("manage.py worker cpu") >= 1
    stack.wait_for(_DONE.format(count=4), 120)
    assert stack.kill() == []
    stack.start()
    assert stack.wait_for(_OVER.format(run=run), 240) == "done"
    for numbers, measured, counted in stack.ask(_COUNTS.format(run=run)):
        assert numbers == [1, 2, 3, 4]
        assert measured == [1, 2, 3, 4]
        assert counted == 4
    assert stack.ask(_LIVING.format(run=run)) == []


def test_ctrl_c_leaves_nothing_behind_and_a_second_start_goes_on(fresh_stack: Stack) -> None:
    stack = fresh_stack
    run = stack.ask(LAUNCH.format(slugs=["own/1"], attempts=3))
    stack.wait_for(_DONE.format(count=1), 120)
    assert stack.interrupt() == []
    stack.start()
    assert stack.wait_for(_OVER.format(run=run), 180) == "done"
    assert stack.ask(_COUNTS.format(run=run)) == [[[1, 2, 3], [1, 2, 3], 3]]
    assert stack.ask("answer = max(Job.objects.filter(kind='evaluate').values_list('tries', flat=True))") == 1

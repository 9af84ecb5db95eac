"""Inputs made ahead: as many as asked for, each from a seed of its own, and nothing where the problem fails."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from kernels.harness.arena import same_bits
from kernels.harness.evaluation import Limits
from kernels.harness.input_maker import InputMaker
from kernels.harness.reference import Reference
from tests.harness.conftest import MakeRequest
from tests.harness.local import guard, write
from tests.harness.processes import wait_for
from tests.harness.programs import PROBLEM


def _all(maker: InputMaker) -> list[list[torch.Tensor]]:
    found = []
    while (tensors := maker.take()) is not None:
        found.append(tensors)
    return found


def test_every_set_comes_once_and_differs_from_the_others(make_request: MakeRequest) -> None:
    request = make_request()
    maker = InputMaker(request, 5, makers=2)
    maker.finish()
    sets = _all(maker)
    maker.close()
    assert len(sets) == 5
    for tensors in sets:
        assert [tuple(t.shape) for t in tensors] == [spec.shape for spec in request.signature.inputs]
    first = [tensors[0] for tensors in sets]
    assert not any(same_bits(a, b) for i, a in enumerate(first) for b in first[:i])


def test_as_many_are_made_as_the_free_memory_holds(
    make_request: MakeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = make_request()
    room = 4 * 2 * sum(spec.bytes for spec in request.signature.inputs)
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=room))
    maker = InputMaker(request, 5)
    assert len(_all(maker)) == 2
    maker.close()


def test_a_maker_of_nothing_lets_go_of_its_selector_and_may_be_closed_again(make_request: MakeRequest) -> None:
    maker = InputMaker(make_request(), 0)
    assert maker.take() is None
    maker.close()
    maker.close()
    assert maker._selector.get_map() is None


def test_the_evaluations_own_limit_holds_where_more_is_free(make_request: MakeRequest) -> None:
    request = make_request()
    set_bytes = sum(spec.bytes for spec in request.signature.inputs)
    maker = InputMaker(replace(request, limits=Limits(memory_bytes=3 * set_bytes)), 5)
    assert len(_all(maker)) == 3
    maker.close()


def test_the_reference_takes_them_and_then_makes_its_own(make_request: MakeRequest) -> None:
    request = make_request()
    maker = InputMaker(request, 1)
    with guard() as watching:
        reference = Reference(request, watching, "cpu", maker)
        made, own = reference.inputs(), reference.inputs()
    maker.close()
    assert made[0].shape == own[0].shape
    assert maker.made_s > 0
    assert reference.making_s > 0
    assert not same_bits(made[0], own[0])


@pytest.mark.parametrize("line", ["def get_inputs(): raise KeyError(7)", "import os; os._exit(3)", "1 / 0"])
def test_a_problem_that_fails_gives_none_and_leaves_no_process(
    make_request: MakeRequest, tmp_path: Path, line: str
) -> None:
    maker = InputMaker(make_request(problem_path=write(tmp_path, "bad.py", f"{PROBLEM}\n{line}\n")), 4, makers=3)
    assert maker.take() is None
    foreman = maker._foreman
    maker.close()
    with pytest.raises(ProcessLookupError):
        os.kill(foreman, 0)


def test_closing_ends_makers_that_are_still_at_work(make_request: MakeRequest, tmp_path: Path) -> None:
    told = tmp_path / "pids"
    endless = (
        f"{PROBLEM}\nimport os\ndef get_inputs():\n"
        f"    open({str(told)!r}, 'a').write(f'{{os.getpid()}} ')\n    while 1: pass\n"
    )
    maker = InputMaker(make_request(problem_path=write(tmp_path, "endless.py", endless)), 3, makers=3)
    wait_for(lambda: told.exists() and len(told.read_text().split()) == 3)
    maker.close()
    # This process is no subreaper, so those that ended may wait for init a moment.
    wait_for(lambda: not any(Path("/proc", pid, "cmdline").exists() for pid in told.read_text().split()))


def test_sockets_of_the_supervisor_are_not_held_open(make_request: MakeRequest, tmp_path: Path) -> None:
    endless = write(tmp_path, "endless.py", f"{PROBLEM}\ndef get_inputs():\n    while True: pass\n")
    read, write_end = os.pipe()
    maker = InputMaker(make_request(problem_path=endless), 1)
    os.close(write_end)
    # End of file comes although the maker, forked with both ends, is still at work.
    assert os.read(read, 1) == b""
    maker.close()
    os.close(read)

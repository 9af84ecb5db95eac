"""Who answers an ask: a proposer of the agent, or the language model that the run names, with the run's books."""

from __future__ import annotations

from dataclasses import replace

from agent.llm.errors import ModelKeyMissing, ModelsUnreadable, UnknownModel
from agent.llm.keys import key_of
from agent.proposers import proposer
from agent.proposers.openai import OpenAI
from agent.steps import Answered, Ask, History, TrajectorySettings
from agent.tools import tools_for
from kernels.toolchain.nvcc import find_cutlass
from runs import catalogue
from runs.desk import RowsDesk, calls_of, usage_of
from runs.jobs import Lease
from runs.models import Trajectory


def answer(
    trajectory: Trajectory, settings: TrajectorySettings, history: History, ask: Ask, lease: Lease
) -> Answered:
    """The answer to ``ask``. A model that is not configured any more, or has no key, is an answer without one."""
    try:
        spec = catalogue.model_of(settings.proposer)
        if spec is None:
            return proposer(settings.proposer).answer(settings, history, ask)
        key = key_of(spec)
    except (ModelsUnreadable, UnknownModel, ModelKeyMissing) as error:
        return Answered(ask.number, (), f"{error.slug()}: {error}")
    tools = tools_for(settings, find_cutlass())
    answered = OpenAI(spec, key, RowsDesk(trajectory, lease.stop), tools).answer(settings, history, ask)
    return replace(answered, usage=usage_of(calls_of(trajectory, ask.number)))

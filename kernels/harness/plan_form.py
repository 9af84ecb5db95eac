"""A Plan from its JSON form without cattrs, whose import is a tenth of a second that a child need not spend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernels.codegen.emission import Launch, Plan, PlanValue, TorchCall
from kernels.dtypes import DType


def plan_from_form(form: Mapping[str, Any]) -> Plan:
    """The reverse of ``kernels.records.to_json`` for a plan."""
    return Plan(
        values=tuple(_value(value) for value in form["values"]),
        inputs=tuple(form["inputs"]),
        parameters=tuple(form["parameters"]),
        steps=tuple(_step(step) for step in form["steps"]),
        outputs=tuple(form["outputs"]),
    )


def _value(form: Mapping[str, Any]) -> PlanValue:
    return PlanValue(
        name=form["name"],
        dtype=DType(form["dtype"]),
        shape=tuple(form["shape"]),
        strides=tuple(form["strides"]),
        offset=form["offset"],
        storage=form["storage"],
    )


def _step(form: Mapping[str, Any]) -> Launch | TorchCall:
    if form["kind"] == "torch":
        return TorchCall(
            stage=form["stage"],
            function=form["function"],
            args=tuple(form["args"]),
            kwargs=dict(form["kwargs"]),
            results=tuple(form["results"]),
            once=form["once"],
        )
    return Launch(
        stage=form["stage"],
        symbol=form["symbol"],
        pointers=tuple(form["pointers"]),
        results=tuple(form["results"]),
        sizes=tuple(form["sizes"]),
        workspace_bytes=form["workspace_bytes"],
        once=form["once"],
        abi=form["abi"],
    )

"""The table of cards against what their datasheets say."""

from __future__ import annotations

import dataclasses

import pytest

from kernels.records import from_json, to_json
from sol.bounds import Device, UnknownCard, card
from sol.bounds.devices import names, specification


@pytest.mark.parametrize(
    ("name", "kind", "teraflops"),
    [
        ("a100", "bf16", 312), ("a100", "tf32", 156), ("a100", "f32", 19.5), ("h100", "bf16", 989.4),
        ("h100", "tf32", 494.7), ("h100", "f8", 1978.9), ("h200", "f16", 989.4), ("h100-pcie", "f16", 756),
        ("h100-nvl", "f16", 835), ("l40s", "f16", 362), ("l40s", "f32", 91.6), ("rtx-4090", "f16", 330.3),
        ("rtx-4090", "f32", 82.6), ("a10", "f16", 125), ("a10", "tf32", 62.5), ("a10", "f32", 31.2),
    ],
)  # fmt: skip
def test_dense_rates_are_the_datasheets(name: str, kind: str, teraflops: float) -> None:
    assert card(name).matrix_flops[kind] / 1e12 == pytest.approx(teraflops, rel=0.015)


@pytest.mark.parametrize("name", ["NVIDIA H200", "h200", "H200-SXM", "nvidia h200 sxm"])
def test_a_card_answers_to_the_names_people_and_drivers_use(name: str) -> None:
    assert card(name).name == "NVIDIA H200 SXM"


def test_an_unknown_card_is_named_with_those_that_are_known() -> None:
    with pytest.raises(UnknownCard, match=r"'tpu'.*h100-sxm"):
        card("tpu")


@pytest.mark.parametrize("name", names())
def test_every_card_says_where_its_values_come_from(name: str) -> None:
    device = card(name)
    assert "NVIDIA" in device.facts["source"]
    assert device.source == "specification"
    assert device.measured_at is None
    assert device.cache_bytes_s is not None
    assert device.cache_bytes_s > device.copy_bytes_s
    assert from_json(to_json(device), Device) == device


def test_a_measured_card_finds_its_specification() -> None:
    measured = dataclasses.replace(card("h200"), name="NVIDIA H200", source="measured")
    found = specification(measured)
    assert found is not None
    assert found.source == "specification"
    assert found.facts["max_clock_ghz"] == "1.98"


def test_a_processor_has_no_specification_in_the_table() -> None:
    assert specification(dataclasses.replace(card("h200"), kind="cpu")) is None

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
        ("h100-pcie", "tf32", 378), ("h200", "tf32", 494.7), ("l40s", "tf32", 183), ("l40s", "f8", 733),
        ("rtx-4090", "bf16", 165.2), ("rtx-4090", "tf32", 82.6), ("b200", "bf16", 2250), ("b200", "tf32", 1125),
        ("b200", "f8", 4500),
    ],
)  # fmt: skip
def test_dense_rates_are_the_datasheets(name: str, kind: str, teraflops: float) -> None:
    assert card(name).matrix_flops[kind] / 1e12 == pytest.approx(teraflops, rel=0.015)


@pytest.mark.parametrize("name", ["NVIDIA H200", "h200", "H200-SXM", "nvidia h200 sxm"])
def test_a_card_answers_to_the_names_people_and_drivers_use(name: str) -> None:
    assert card(name).name == "NVIDIA H200 SXM"


@pytest.mark.parametrize(
    ("name", "teraflops"), [("h100", 66.9), ("h100-pcie", 51), ("h200", 66.9), ("b200", 75), ("h100-nvl", 60.3)]
)
def test_fp32_is_stated_at_the_highest_clock(name: str, teraflops: float) -> None:
    device = card(name)
    clocks = float(device.facts["max_clock_ghz"]) / float(device.facts["boost_clock_ghz"])
    assert device.vector_flops["f32"] * clocks / 1e12 == pytest.approx(teraflops, rel=0.01)


def test_the_cards_that_people_ask_for_are_there() -> None:
    asked = (
        "a100",
        "a100-sxm-40gb",
        "a100-pcie",
        "h100",
        "h100-pcie",
        "h100-nvl",
        "h200",
        "l40s",
        "4090",
        "a10",
        "b200",
    )
    assert len({card(name).name for name in asked}) == len(names()) == 11


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

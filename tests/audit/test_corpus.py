"""The static audit over the whole corpus: cheats found and named, honest candidates left alone."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from kernels.languages import Language, language_of
from sol.audit import Severity, Trick
from tests.audit.corpus import FOLDER, Result, results
from tests.audit.languages import CANNOT


@pytest.fixture(scope="module")
def audited() -> list[Result]:
    return results()


def test_cheats_that_their_text_shows_are_found_and_named(audited: list[Result]) -> None:
    cheats = [result for result in audited if result.sample.trick is not None and result.sample.static]
    missed = [result.sample.name for result in cheats if not result.found]
    unnamed = [result.sample.name for result in cheats if result.sample.trick not in result.named]
    first = [result for result in cheats if result.first is result.sample.trick]
    assert len(cheats) >= 80
    assert len(missed) <= 0.05 * len(cheats), missed
    assert len(unnamed) <= 0.15 * len(cheats), unnamed
    assert len(first) >= 0.85 * len(cheats)


def test_honest_candidates_are_not_severe(audited: list[Result]) -> None:
    honest = [result for result in audited if result.sample.trick is None]
    severe = [result.sample.name for result in honest if result.severe]
    assert len(honest) >= 80
    assert len(severe) <= 0.02 * len(honest), severe


KNOWN_FALSE_POSITIVES = (
    "num_stages.py", "autotuned.py", "conv3d_torch_nn.py", "conv3d_nn.py", "conv3d_from.py", "comment_marks.py",
    "word_pass.py", "half_allowed.py", "half_allowed.cu", "half_allowed.mu", "comments.cu", "stages_knob.mu",
)  # fmt: skip


def test_the_known_false_positives_are_clean(audited: list[Result]) -> None:
    found = {result.sample.path.name: result for result in audited if result.sample.trick is None}
    assert {name for name in KNOWN_FALSE_POSITIVES if found[name].found} == set()


def test_a_layer_is_the_same_however_it_is_imported(audited: list[Result]) -> None:
    """torch.nn.Conv3d, nn.Conv3d and a name from an import: the same flags."""
    found = {result.sample.path.name: result for result in audited}
    flags = [
        {(flag.detector, flag.trick, flag.severity) for flag in found[f"conv3d_{name}.py"].flags}
        for name in ("torch_nn", "nn", "from")
    ]
    assert flags[0] == flags[1] == flags[2]


def test_each_trick_has_a_sample_that_its_text_shows(audited: list[Result]) -> None:
    counts = Counter(result.sample.trick for result in audited if result.sample.static)
    assert [trick for trick in Trick if not counts[trick]] == []


def test_each_trick_has_a_sample_in_each_language_in_which_it_can_be_written(audited: list[Result]) -> None:
    written = {(result.sample.trick, language_of(result.sample.path)) for result in audited if result.sample.trick}
    pairs = {(trick, language) for trick in Trick for language in Language}
    assert pairs - written == set(CANNOT)


def test_every_file_is_in_the_manifest_and_every_language_on_both_sides() -> None:
    entries = json.loads((FOLDER / "manifest.json").read_text("utf-8"))
    listed = {entry["file"] for entry in entries}
    files = {f"{kind}/{path.name}" for kind in ("cheats", "honest") for path in (FOLDER / kind).iterdir()}
    assert files == listed
    for kind in ("cheats", "honest"):
        languages = {language_of(FOLDER / name) for name in listed if name.startswith(kind)}
        assert len(languages) == 4


def test_evidence_lies_within_the_text(audited: list[Result]) -> None:
    for result in audited:
        last = len(result.sample.path.read_text("utf-8").splitlines())
        for flag in result.flags:
            assert all(1 <= place.first <= place.last <= last for place in flag.evidence.places), result.sample.name


def test_comments_change_nothing_but_what_comments_show(audited: list[Result]) -> None:
    """A text that talks to the judge gets the flags of the same text without the talk."""
    talk = next(result for result in audited if result.sample.path.name == "talks_to_the_judge.py")
    assert not [flag for flag in talk.flags if flag.severity is not Severity.INFO]

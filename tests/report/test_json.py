import dataclasses
import json

import pytest

from driftwatch.compare.change import Change
from driftwatch.explain.explanation import RuledOut, Subject
from driftwatch.model import Known, Unknown
from driftwatch.report import json as report
from driftwatch.report.page import Page
from tests.report.contract import broken, strict
from tests.report.scenes import SCENES
from tests.report.test_text import HOSTILE, hostile

PAGE = Page()


@pytest.mark.parametrize("scene", SCENES)
def test_every_scene_keeps_the_contract(scene):
    assert broken(strict(report.render(SCENES[scene], PAGE))) == []


@pytest.mark.parametrize("word", HOSTILE, ids=[f"word{number}" for number in range(len(HOSTILE))])
def test_hostile_text_gives_strict_json_with_the_text_inside(word):
    document = strict(report.render(hostile(word), PAGE))
    shown = word.encode("utf-8", "backslashreplace").decode("utf-8")
    assert document["changes"][0]["good"] == shown
    assert document["changes"][1]["bad"] == {"unknown": "timeout", "reason": shown}


def test_the_same_explanation_gives_the_same_bytes():
    assert report.render(SCENES["e"], PAGE) == report.render(dataclasses.replace(SCENES["e"]), Page(120, color=True))


def test_an_unknown_side_says_so_with_its_status():
    change = Change("packages/torch/version", "unknown", Known("2.9.1"), Unknown("timeout", "packages: no answer in 10 s"))
    entry = report.document(dataclasses.replace(SCENES["same"], changes=(change,)))["changes"][0]
    assert entry["good"] == "2.9.1"
    assert entry["bad"] == {"unknown": "timeout", "reason": "packages: no answer in 10 s"}
    assert entry["class"] == "unknown"


def test_a_change_that_only_follows_names_what_it_follows():
    entries = report.document(SCENES["a"])["changes"]
    assert [entry["follows"] for entry in entries if entry["folded"]] == ["packages/apache-tvm-ffi/version"]


def named(kind, name):
    return report.document(dataclasses.replace(SCENES["same"], ruled_out=(RuledOut(Subject(kind, name), "equal"),)))["ruled_out"][0]["subject"]["name"]


def test_a_package_has_its_canonical_name():
    assert named("package", "Sgl_Kernel.cu12") == "sgl-kernel-cu12"


def test_a_long_name_is_cut_and_still_told_apart():
    first, second = named("network", "x" * 300 + "1"), named("network", "x" * 300 + "2")
    assert (len(first), len(second)) == (120, 120)
    assert first != second


def test_a_path_of_one_word_is_kept_whole():
    path = "/opt/" + "deep/" * 60 + "x.so"
    assert named("library", path) == path


def test_the_cheapest_command_is_given_as_confirm_and_the_way_back_as_undo():
    suspect = report.document(SCENES["a"])["suspects"][0]
    assert suspect["confirm"].startswith("grep -ho")
    assert suspect["undo"] == "/opt/venv/bin/pip install --no-deps apache-tvm-ffi==0.1.12"
    assert [command["label"] for command in suspect["commands"]] == ["confirm", "try", "undo"]


def test_text_and_json_name_the_same_suspects_and_unanswered_questions():
    for scene in SCENES.values():
        document = json.loads(report.render(scene, PAGE))
        assert [one["subject"]["name"] for one in document["suspects"]] == [one.subject.name for one in scene.suspects]
        assert [one["subject"]["name"] for one in document["not_checked"]] == [one.subject.name for one in scene.not_checked]

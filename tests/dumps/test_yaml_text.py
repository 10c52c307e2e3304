"""YAML as people paste it: every leaf a text, a broken line costs that line, and what is deep, endless or multiplies itself is nothing."""

import pytest

from driftwatch.dumps.yaml_text import LARGEST, load


def read(text):
    return load(text.split("\n"))


@pytest.mark.parametrize(("text", "value"), [
    ("a: 1\nb: yes\nc: 2026-03-02\nd: 0x10\n", {"a": "1", "b": "yes", "c": "2026-03-02", "d": "0x10"}),
    ("a:\nb: ''\nc: null\n", {"a": None, "b": "", "c": "null"}),
    ("a: &x\n  b: c\nd:\n  <<: *x\n  e: f\n", {"a": {"b": "c"}, "d": {"b": "c", "e": "f"}}),
    ("a: >-\n  b\n  c\n", {"a": "b c"}),
    ("a:\n\t- b\n", {"a": ["b"]}),
])
def test_leaves_stay_texts(text, value):
    assert read(text) == value


@pytest.mark.parametrize(("text", "value"), [
    ("a: b\nc: [d\ne: f\n", {"a": "b", "e": "f"}), ("a: b\n  more: words: here\ne: f\n", {"a": "b", "e": "f"}), ("a: b\nc: d\n...cut", {"a": "b", "c": "d"}),
])
def test_a_line_that_breaks_costs_that_line(text, value):
    assert read(text) == value


@pytest.mark.parametrize("piece", ["- ", "[", "{a: ", "? "])
def test_what_is_nested_without_end_is_nothing(piece):
    assert read(piece * 5000) is None


def test_what_multiplies_itself_is_nothing():
    rows = [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]" if at else "a0: &a0 [x]" for at in range(9)]
    assert load(rows) is None


def test_more_than_a_service_can_need_is_nothing():
    assert read("a: b\n" * LARGEST) is None

"""What was told is not told again until it changes; what could not be looked at is not forgotten."""

from __future__ import annotations

import pytest

from driftwatch.fleet.told import Told, acknowledge, after, from_document, to_document

OLD = Told({"env/A": "k1", "packages/x/version": "k2"})


def test_a_difference_is_new_once_and_again_when_its_value_moves():
    assert [OLD.is_new("env/A", "k1"), OLD.is_new("env/A", "k9"), OLD.is_new("env/B", "k1")] == [False, True, True]


def test_what_is_gone_is_forgotten_so_that_it_is_told_when_it_comes_back():
    assert after(OLD, {"env/A": "k1"}, (), ["k1"]).keys == {"env/A": "k1"}


def test_what_could_not_be_looked_at_stays_told():
    assert after(OLD, {"env/A": "k1"}, ("packages/*",), ["k1"]).keys == {"env/A": "k1", "packages/x/version": "k2"}


def test_an_acknowledgement_lasts_while_the_difference_does():
    known = acknowledge(OLD, ["env/A"], "2026-03-01T00:00:00Z", "a test")
    assert [set(after(known, {}, (), present).acknowledged) for present in (["k1"], ["k9"])] == [{"k1"}, set()]


def test_an_acknowledgement_lasts_while_its_fact_cannot_be_read():
    known = acknowledge(OLD, ["env/A"], "2026-03-01T00:00:00Z")
    assert set(after(known, {}, ("env/*",), []).acknowledged) == {"k1"}


def test_a_state_is_read_back_as_it_was_written():
    known = acknowledge(OLD, ["env/A"], "2026-03-01T00:00:00Z", "a test")
    assert from_document(to_document(known)) == known


@pytest.mark.parametrize("document", [None, [], {}, {"format": 2, "keys": {}, "acknowledged": {}}, {"format": 1, "keys": [], "acknowledged": {}}])
def test_another_document_is_no_state(document):
    with pytest.raises(ValueError, match="format 1"):
        from_document(document)

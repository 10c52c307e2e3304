"""Fixtures for all tests. ``bound``: for what must cost no more than its length; a search that goes over a text again and again would take minutes."""

from __future__ import annotations

import signal

import pytest

BOUND_S = 20


@pytest.fixture
def bound():
    """End a test that does not end by itself."""
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(BOUND_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _too_long(*_given):
    raise TimeoutError(f"not done after {BOUND_S} s")

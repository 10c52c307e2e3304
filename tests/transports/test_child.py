"""A command that cannot be started is told with what to do about that command."""

from __future__ import annotations

import errno
import os

import pytest

from driftwatch.transports.child import start
from driftwatch.transports.wire import LinkLost


@pytest.mark.parametrize(("name", "do"), [("ssh", "install openssh-client"), ("srun", "install srun"), ("kubectl", "make kubectl executable")])
def test_a_program_that_cannot_be_started_is_told_with_what_to_do_about_it(tmp_path, monkeypatch, name, do):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "kubectl").touch()
    with pytest.raises(LinkLost, match=f"{name} cannot be started") as lost:
        start([name])
    assert lost.value.advice.startswith(do)


def test_words_that_are_too_many_for_the_system_are_not_blamed_on_the_program():
    with pytest.raises(LinkLost, match=os.strerror(errno.E2BIG)) as lost:
        start(["ssh", "x" * (4 << 20)])
    assert "install" not in lost.value.advice

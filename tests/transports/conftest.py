"""The two ways over SSH, and one real sshd for all tests that need no configuration of their own."""

from __future__ import annotations

import shutil

import pytest

from driftwatch.transports.openssh import OpenSSH
from driftwatch.transports.paramiko import Paramiko
from tests.lab.sshd import running_sshd


@pytest.fixture(scope="package")
def server(tmp_path_factory):
    with running_sshd(tmp_path_factory.mktemp("sshd") / "host") as running:
        yield running


@pytest.fixture(params=[OpenSSH, Paramiko], ids=["openssh", "paramiko"])
def way(request):
    if request.param is OpenSSH and shutil.which("ssh") is None:
        pytest.skip("no ssh client here: install openssh-client")
    return request.param

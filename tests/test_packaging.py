"""What is shipped: the wheel holds every file that the package reads, works from its own folder alone, and sends hosts the same bytes as the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILD = [sys.executable, "-m", "hatchling", "build"]
SAME_TIME = {**os.environ, "SOURCE_DATE_EPOCH": "1767225600"}
PROGRAM = """
import hashlib, json, driftwatch
from driftwatch.capture.bundle import bundle
from driftwatch.capture.plan import offers
print(json.dumps([driftwatch.__file__, hashlib.sha256(bundle(tuple(sorted({offer.module for offer in offers()})))).hexdigest()]))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build both distributions, and return their folder."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([*BUILD, "-d", str(folder)], cwd=ROOT, check=True, capture_output=True, env=SAME_TIME)
    return folder


@pytest.fixture(scope="module")
def unpacked(built, tmp_path_factory):
    """Unpack the wheel, and return its folder."""
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        wheel.extractall(folder)
    return folder


def agent_of(place):
    """Return where driftwatch was imported from, and the digest of the agent that it would send, as a process that sees that place first tells them."""
    ran = subprocess.run([sys.executable, "-c", PROGRAM], cwd=place, env={**os.environ, "PYTHONPATH": str(place)}, check=True, capture_output=True, text=True)
    return json.loads(ran.stdout)


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(unpacked):
    tracked = subprocess.run(["git", "ls-files", "driftwatch"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    inside = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file() and ".dist-info" not in str(path)}
    assert set(tracked) <= inside
    assert {path for path in inside if not path.startswith("driftwatch/")} == set()


def test_the_wheel_sends_hosts_the_same_agent_as_the_checkout(unpacked):
    wheel, checkout = agent_of(unpacked), agent_of(ROOT)
    assert wheel[0].startswith(str(unpacked))
    assert wheel[1] == checkout[1]


def test_the_agent_is_the_same_bytes_each_time_it_is_made():
    assert agent_of(ROOT)[1] == agent_of(ROOT)[1]


def test_the_source_distribution_builds_the_same_wheel(built, tmp_path):
    subprocess.run(["tar", "-xf", str(next(built.glob("*.tar.gz"))), "-C", str(tmp_path)], check=True)
    (folder,) = tmp_path.iterdir()
    subprocess.run([*BUILD, "-t", "wheel", "-d", str(tmp_path / "again")], cwd=folder, check=True, capture_output=True, env=SAME_TIME)
    ours, theirs = (sorted(_files(next(where.glob("*.whl")))) for where in (built, tmp_path / "again"))
    assert ours == theirs


def _files(wheel):
    with zipfile.ZipFile(wheel) as found:
        return [(one.filename, one.CRC) for one in found.infolist()]

"""The agent on the oldest Python that it promises and on the newest at hand: its own tests run there, and its facts are the same.

Each candidate is run before it is believed, since a name on PATH may be a shim that fails.
"""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from driftwatch.capture.bundle import bundle
from driftwatch.capture.plan import plan_for
from tests.agent import lab

TOP = Path(__file__).parent.parent
PROMISED = (3, 8)
NAMES = [f"python3.{minor}" for minor in range(8, 16)]
PLACES = ((Path("/usr/bin"), "python3*"), (Path("/usr/local/bin"), "python3*"), (Path.home(), ".pyenv/versions/*/bin/python"))
REQUIREMENTS = ("pytest>=8.3", "importlib-metadata", "packaging", "nvidia-ml-py>=12.570", "setproctitle>=1.3", "mfusepy>=1")
INSTALL_LIMIT_S = 180
TESTS_LIMIT_S = 600
HOSTS = [TOP / f"tests/hosts/{name}.tar.xz" for name in ("s1-seed-fraction", "s4-seed-probe-hang")]


def version_of(python):
    """Return the version that a candidate tells when it is run, None where it does not run or is no CPython 3."""
    asked = "import sys; print(sys.implementation.name, *sys.version_info[:2])"
    try:
        ran = subprocess.run([python, "-c", asked], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = ran.stdout.split()
    return (int(words[1]), int(words[2])) if ran.returncode == 0 and words[:1] == ["cpython"] else None


def pythons_at_hand():
    """Return by version one Python that runs and keeps the promise, our own among them."""
    named = [path for name in NAMES if (path := shutil.which(name))]
    listed = [str(path) for folder, pattern in PLACES for path in sorted(folder.glob(pattern)) if not path.name.endswith("config")]
    found = {sys.version_info[:2]: sys.executable}
    for python in dict.fromkeys(named + listed):
        version = version_of(python)
        if version is not None and version >= PROMISED:
            found.setdefault(version, python)
    return dict(sorted(found.items()))


AT_HAND = pythons_at_hand()
OLDEST, NEWEST = min(AT_HAND), max(AT_HAND)
AGES = ("oldest", "newest")


def python_other_than_ours(which):
    version = OLDEST if which == "oldest" else NEWEST
    if version == sys.version_info[:2]:
        pytest.skip(f"the {which} Python at hand is the one that runs these tests, {version[0]}.{version[1]}")
    return version, AT_HAND[version]


def venv_with_pytest(version, python):
    """Return the Python of a virtual environment that has pytest, made once and kept beside ours; a skip says why there can be none."""
    folder = TOP / ".venv" / "others" / f"{version[0]}.{version[1]}"
    inside, stamp = folder / "bin/python", folder / "made-with"
    wanted = f"{python} {REQUIREMENTS}"
    if not (stamp.exists() and stamp.read_text() == wanted and version_of(str(inside)) == version):
        for argv in ([python, "-m", "venv", "--clear", str(folder)], [str(inside), "-m", "pip", "install", "-q", *REQUIREMENTS]):
            ran = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=INSTALL_LIMIT_S, check=False)
            if ran.returncode:
                pytest.skip(f"no virtual environment with pytest can be made for {python}: {(ran.stderr.strip() or 'no reason told').splitlines()[-1]}")
        stamp.write_text(wanted)
    return str(inside)


def facts_of(python, recorded, folder):
    """Return what the agent tells of a recorded host under a Python: facts by path, status and reason by probe."""
    zipped = folder / "agent.zip"
    zipped.write_bytes(bundle(tuple(sorted({offer.module for offer in plan_for().asked})), is_replay=True))
    plan = [{**lab.planned(offer.probe.name), "module": offer.module, "deadline_s": 30.0, "cap_bytes": offer.probe.cap_bytes,
             "needs_targets": offer.probe.needs_targets} for offer in plan_for().asked]
    with lab.agent(zipped, lab.order(*plan, deadline_s=50.0, recorded=recorded), python) as child:
        frames = lab.parse(child.stdout.read())
    told = lab.Told(frames)
    return told.facts, {probe: (frame["status"], frame.get("reason", "")) for probe, frame in told.outcomes.items()}


def apart():
    """Return the words that give a command mounts of its own, none where this machine does not let us."""
    words = ["unshare", "--mount"]
    return words if shutil.which("unshare") and subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0 else []


def agents_tests_under(which):
    """Return the finished run of the agent's tests on one Python, or the skip that says why it cannot be."""
    try:
        inside = venv_with_pytest(*python_other_than_ours(which))
    except pytest.skip.Exception as reason:
        return reason
    env = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "PYTEST_", "PYTHON"))}
    argv = [*apart(), inside, "-m", "pytest", "tests/agent", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(argv, cwd=TOP, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TESTS_LIMIT_S, check=False)


@pytest.fixture(scope="module")
def runs():
    """Return by age the runs of the agent's tests: side by side where each has its own mounts, since a dead mount of one would meet the other."""
    with ThreadPoolExecutor(len(AGES) if apart() else 1) as pool:
        return dict(zip(AGES, pool.map(agents_tests_under, AGES), strict=True))


@pytest.mark.parametrize("which", AGES)
def test_the_tests_of_the_agent_pass_on_another_python(which, runs):
    if isinstance(ran := runs[which], pytest.skip.Exception):
        raise ran
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]


@pytest.mark.parametrize("side", ["good", "bad"])
@pytest.mark.parametrize("host", HOSTS, ids=lambda path: path.name.partition(".")[0])
@pytest.mark.parametrize("which", AGES)
def test_a_recorded_host_tells_the_same_under_another_python(which, host, side, tmp_path):
    _, python = python_other_than_ours(which)
    recorded = f"{host}/{host.name.partition('.')[0]}/{side}"
    assert facts_of(python, recorded, tmp_path) == facts_of(sys.executable, recorded, tmp_path)


def test_some_python_that_keeps_the_promise_is_at_hand():
    print(", ".join(f"{major}.{minor}: {path}" for (major, minor), path in AT_HAND.items()))  # noqa: T201  # tells people which were found
    assert OLDEST >= PROMISED

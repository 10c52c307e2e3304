"""Whole snapshots of virtual environments that pip itself filled and that were then broken in the ways in which installs break."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.agent.installs import edit, install, venv, wheel
from tests.agent.test_ownership import BACKEND
from tests.whole.faults import take

MODULES = {
    "leaves": "import os\nos._exit(0)\n",
    "exits": "raise SystemExit(0)\n",
    "crashes": "import ctypes\nctypes.string_at(0)\n",
    "chatters": "import os\nprint('{\"version\": \"9\"}', flush=True)\nos.write(1, b'\\x1b[31mnoise')\n__version__ = '2.0'\n",
    "differs": "__version__ = '0.3.20'\n",
    "leaves_children": "import subprocess\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\n__version__ = '3.0'\n",
    "sleeps": "import time\ntime.sleep(600)\n",
}
METADATA = {
    "cut": b"Metadata-Version: 2.1\nNam", "hollow": b"", "nuls": b"\0" * 200,
    "latin": "Metadata-Version: 2.1\nName: latin\nVersion: 1.0\nAuthor: Andr\xe9\n\n".encode("latin-1"), "fifo": None, "gone": None,
}


def pip(python, *what):
    """Install into another environment with the real pip, or skip with its reason."""
    words = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-deps", "--disable-pip-version-check", *map(str, what)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    if ran.returncode:
        pytest.skip(f"this Python has no pip that can install into another environment: {ran.stderr.strip()[-100:]}")


def editable_project(folder):
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n')
    (folder / "backend.py").write_text(BACKEND)
    return folder


def fill(python, top):
    """Install all that is to be broken; what overwrites others comes last, as it would."""
    made = [wheel(top / "wheels", name, "1.0", {f"{name}/__init__.py": "", f"{name}/a.py": "one\n", f"{name}/b.py": "two\n"})
            for name in ("fine", "edited", "robbed", "unlisted", "torch", *METADATA)]
    made += [wheel(top / "wheels", f"the-{name}", "0.9", {f"{name}/__init__.py": text}) for name, text in MODULES.items()]
    made += [wheel(top / "wheels", name, "1.0", {"shared/core.py": f"# of {name}\n"}) for name in ("left-half", "sgl-kernel")]
    made += [wheel(top / "old", "twice", "1.0", {"twice.py": "old\n"})]
    pip(python, *made)
    pip(python, "--ignore-installed", wheel(top / "wheels", "twice", "2.0", {"twice.py": "new\n"}),
        *(wheel(top / "wheels", name, "1.1", {"shared/core.py": f"# of {name}\n"}) for name in ("right-half", "sglang-kernel")))
    pip(python, "--no-build-isolation", "-e", editable_project(top / "project"))


def break_it(site, top):
    """Break what was installed, each in one way."""
    for name, data in METADATA.items():
        path = site / f"{name}-1.0.dist-info/METADATA"
        path.unlink()
        if name == "fifo":
            os.mkfifo(path)
        elif data is not None:
            path.write_bytes(data)
    (site / "torch-1.0.dist-info").rename(site / "~orch-1.0.dist-info")
    edit(site / "edited/a.py", "ONE\n")
    (site / "robbed/b.py").unlink()
    (site / "unlisted-1.0.dist-info/RECORD").unlink()
    (site / "runs.pth").write_text(f"import pathlib; pathlib.Path({str(top / 'it-ran')!r}).touch()\n")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A virtual environment and the folder above it."""
    top = tmp_path_factory.mktemp("installs")
    python, site = venv(top / "venv")
    fill(python, top)
    break_it(site, top)
    return python, site, top


@pytest.fixture(scope="module")
def taken(place):
    return take(pythons=(place[0],))


def test_broken_installs_break_no_probe_and_hold_nobody(taken):
    assert [name for name in ("targets", "packages", "versions", "record", "ownership", "objects", "native") if taken.statuses[name] != "ok"] == []
    assert not {"timeout", "error", "died", "lost"} & set(taken.statuses.values())
    assert taken.left == ()
    assert taken.wall_s < 17.0


@pytest.mark.parametrize(("name", "why"), [
    ("cut", "no name"), ("hollow", "empty"), ("nuls", "NUL bytes"), ("fifo", "not a regular file"), ("gone", "no such file"),
])
def test_a_distribution_whose_metadata_is_broken_is_unknown_and_never_dropped(taken, name, why):
    assert taken.status_of(f"packages/{name}/version") == "error"
    assert why in taken.reason_of(f"packages/{name}/version")
    assert "its folder says 1.0" in taken.reason_of(f"packages/{name}/version")


def test_latin_1_is_said_and_the_version_still_told(taken):
    assert taken.snapshot.facts["packages/latin/version"] == "1.0"
    assert "no UTF-8" in taken.snapshot.facts["packages/latin/metadata"]


def test_of_two_dist_infos_that_pip_left_the_later_is_told_and_the_other_named(taken):
    assert taken.snapshot.facts["packages/twice/version"] == "2.0"
    assert [one["version"] for one in taken.snapshot.facts["packages/twice/others"]] == ["1.0"]


def test_a_leftover_of_an_interrupted_install_is_named_and_is_no_distribution(taken):
    assert taken.snapshot.facts["leftovers/~orch-1.0.dist-info"]["was"] == "torch 1.0"
    assert "packages/torch/version" not in taken.snapshot.facts


def test_altered_and_missing_files_and_a_record_that_is_gone_are_three_things(taken):
    assert set(taken.snapshot.below("packages/edited/altered")) == {"edited%2Fa.py"}
    assert taken.snapshot.below("packages/robbed/missing") == {"robbed%2Fb.py": True}
    assert "no RECORD" in taken.reason_of("packages/unlisted/altered")
    assert {key: taken.snapshot.facts["packages/fine/verified"][key] for key in ("altered", "missing")} == {"altered": 0, "missing": 0}


def test_a_pth_file_is_told_with_its_code_which_no_probe_ran(taken, place):
    assert "it-ran" in taken.snapshot.facts["python/pth/runs.pth"]["code"][0]
    assert not (place[2] / "it-ran").exists()


def test_an_editable_install_is_told_with_its_folder(taken, place):
    assert taken.snapshot.facts["python/editable/thing"]["source"] == str(place[2] / "project")


def test_a_path_of_four_wheels_is_told_with_whose_bytes_lie_there(taken, place):
    told = taken.snapshot.facts["python/owned_twice/shared%2Fcore.py"]
    last = (place[1] / "shared/core.py").read_text().split()[-1]
    assert told["bytes_of"] == [last]
    assert {"left-half", "right-half", "sgl-kernel", "sglang-kernel"} <= set(told["by"])


def test_imports_that_never_end_crash_leave_or_chatter_each_have_their_own_answer(place):
    taken = take(pythons=(place[0],), groups=("imports",), only=("imports", "packages"), packages=tuple(MODULES), deadlines={"imports": 6.0})
    statuses = {name: taken.status_of(f"packages/the-{name.replace('_', '-')}/imported_version") for name in MODULES}
    assert statuses == {"leaves": "died", "exits": "died", "crashes": "died", "chatters": "known", "differs": "known", "leaves_children": "known",
                        "sleeps": "timeout"}
    told = taken.snapshot.facts
    assert [told[f"packages/the-{name}/imported_version"] for name in ("chatters", "differs")] == ["2.0", "0.3.20"]
    assert [told[f"packages/the-{name}/version"] for name in ("sleeps", "differs")] == ["0.9", "0.9"]
    assert (taken.statuses["imports"], taken.statuses["packages"]) == ("timeout", "ok")
    assert "import of sleeps" in taken.reason_of("packages/the-sleeps/imported_version")
    assert taken.left == ()


def test_a_user_site_that_shadows_what_a_virtual_environment_sees_is_told(tmp_path, monkeypatch):
    python, site = venv(tmp_path / "venv")
    (tmp_path / "venv/pyvenv.cfg").write_text((tmp_path / "venv/pyvenv.cfg").read_text().replace("= false", "= true"))
    user = tmp_path / "home/.local/lib" / site.parent.name / "site-packages"
    user.mkdir(parents=True)
    install(site, "numpy", "2.1", {"numpy/__init__.py": ""})
    install(user, "numpy", "1.26", {"numpy/__init__.py": ""})
    install(user, "pip", "1.0", {"pip/__init__.py": ""})
    ran = subprocess.run([python, "-c", "import pip; print(pip.__file__)"], env={"HOME": str(tmp_path / "home")}, capture_output=True, text=True, check=True)
    assert str(user) in ran.stdout
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    taken = take(pythons=(python,), only=("packages", "ownership"))
    assert str(user) in taken.snapshot.targets[0]["site_packages"]
    assert taken.snapshot.facts["packages/numpy/version"] == "2.1"
    assert taken.snapshot.facts["packages/numpy/shadows"][0] == {"location": str(user), "version": "1.26"}
    assert taken.snapshot.facts["python/user_site/pip"]["hides"][0]["location"] != str(user)

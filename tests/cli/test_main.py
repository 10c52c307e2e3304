"""The entry: help, exit codes, errors in three lines, and nothing imported that is not needed."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from driftwatch.cli.wiring.commands import summaries
from driftwatch.cli.wiring.faults import tell
from tests.cli.conftest import ROOT, TOOL

GLOBAL = {"--quiet", "--verbose", "--format", "--json", "--out", "--color", "--width", "--store", "--config", "--no-pager"}
HEAVY = {"paramiko", "git", "deepdiff", "rich", "jinja2", "pydantic", "cryptography"}


def test_without_a_command_it_prints_twelve_lines_that_begin_with_three_examples(cli):
    ran = cli.run()
    lines = ran.stdout.splitlines()
    assert ran.returncode == 0
    assert len(lines) == 12
    assert [line.split("driftwatch ")[1].split()[0] for line in lines[:3]] == ["snapshot", "snapshot", "audit"]
    assert "driftwatch diff gpu-a" in lines[1]


def test_help_lists_every_command_with_a_line_of_its_own(cli):
    ran = cli.run("--help")
    listed = re.findall(r"^  ([a-z]+)  +\S", ran.stdout, re.MULTILINE)
    assert listed == list(summaries())
    assert {"diff", "history", "import", "list", "memory", "plan", "probes", "show", "snapshot", "tag", "untag"} <= set(listed)
    assert all(summaries().values())


@pytest.mark.parametrize("name", summaries())
def test_every_command_has_help_and_takes_the_global_options(cli, name):
    ran = cli.run(name, "--help")
    assert ran.returncode == 0
    assert set(re.findall(r"--[a-z-]+", ran.stdout)) >= GLOBAL


def test_global_options_are_taken_before_the_command_and_after_it(cli):
    assert json.loads(cli.run("--json", "list").stdout) == json.loads(cli.run("list", "--json").stdout) == []


@pytest.mark.parametrize(("place", "why"), [("/dev/full", "no space left on device"), ("&-", "bad file descriptor")])
def test_an_answer_that_cannot_be_written_is_exit_4_and_no_failure_of_ours(cli, place, why):
    ran = subprocess.run(["sh", "-c", f'exec "$@" >{place}', "sh", *TOOL, "probes"], env=cli.environ(), stderr=subprocess.PIPE, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (
        4, f"error: the answer was not written: {why}\n where: standard output\n    do: -o FILE writes it there\n")


def test_the_entry_imports_nothing_before_it_can_hear_of_ctrl_c():
    ran = subprocess.run([sys.executable, "-c", "import driftwatch.cli.main, sys; print([one for one in sys.modules if one.startswith('driftwatch.')])"],
                         cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout == "['driftwatch.cli', 'driftwatch.cli.main']\n"


@pytest.mark.parametrize(("words", "said"), [
    (("snapshto",), "there is no command 'snapshto'; did you mean 'snapshot'?"),
    (("list", "--sinc", "3d"), "no such option: --sinc"),
    (("diff",), "missing argument"),
    (("list", "--format", "xml"), "--format xml: there is no such one here"),
    (("list", "--color", "pink"), "--color pink: there is no such one here"),
    (("list", "--width", "0"), "--width 0: no such number"),
    (("list", "--since", "yesterday"), "--since yesterday: no age"),
    (("list", "--store", "s4://bucket/x"), "s4:// is no store"),
    (("snapshot", "--only", "system", "--save", "--store", "s4://bucket/x"), "s4:// is no store"),
    (("list", "--config", "none.toml"), "there is no such config file"),
    (("snapshot", "--only", "drivr"), "there is no probe 'drivr'\n    do: did you mean 'driver'?   or   driftwatch probes"),
    (("snapshot", "--with", "nothing"), "there is no group 'nothing'"),
    (("snapshot", "--deadline", "soon"), "--deadline soon: no number of seconds"),
    (("snapshot", "--jobs", "0"), "--jobs 0: no such number"),
    (("snapshot", "--label", "last"), "'last' is reserved"),
    (("snapshot", "--profile", "prod"), "there is no profile 'prod'; there are: full, sglang, torch, vllm"),
    (("snapshot", "-o", "x.json", "gpu-a", "gpu-b"), "--out x.json is one file, and 2 hosts are asked"),
    (("snapshot", "--recorded", "x", "gpu-a"), "--recorded stands in for a host"),
    (("snapshot", "--log", "nope.log"), "nope.log is no file that can be read"),
    (("snapshot", "--", "-oProxyCommand=touch PWNED"), "is no destination"),
    (("show", "root@192.0.2.17"), "root@192.0.2.17 is an SSH login; did you mean 192.0.2.17@last?"),
    (("diff", "x.json", "y.json", "--ask", " "), "--ask names nothing"),
    (("diff", "x.json", "y.json", "--repo", "none"), "--repo none: no such folder"),
    (("tag", "9d41c07", "gpu-a@last"), "'9d41c07' cannot be a tag"),
    (("untag", "gpu-a"), "'gpu-a' names no tag"),
])
def test_wrong_use_is_exit_2_and_says_what_is_wrong(cli, words, said):
    ran = cli.run(*words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.lower().startswith("error: " + said.lower()[:1]) or said in ran.stderr
    assert said.lower() in ran.stderr.lower()
    assert "Traceback" not in ran.stderr


def test_an_error_is_what_where_and_what_to_do(cli):
    assert cli.run("show", "gpu-a@good").stderr.splitlines() == [
        "error: no snapshot of gpu-a is stored", f" where: {cli.store} (0 hosts)", "    do: driftwatch snapshot gpu-a   or   driftwatch list",
    ]


def test_a_name_full_of_control_characters_is_shown_and_not_obeyed(cli):
    ran = cli.run("show", "./bad\x1b[31m\u202e\x07name.json")
    assert ran.returncode == 2
    assert r"bad\x1b[31m\u202e\x07name.json" in ran.stderr
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", ran.stderr)


def test_our_own_fault_is_exit_70_and_one_sentence():
    told, = tell(KeyError("x"))
    assert (told.code, told.what) == (70, "driftwatch itself failed (KeyError: 'x')")



def test_a_reader_that_went_away_is_no_error(cli, snapshot_file):
    path = snapshot_file("x.json", **{f"x/{number}": "y" * 200 for number in range(5000)})
    running = cli.start("show", path, "--all")
    running.stdout.readline()
    running.stdout.close()
    assert running.stderr.read() == ""
    running.stderr.close()
    assert running.wait(20) == 141


LOADED = """
import sys
from driftwatch.cli.main import main
code = main(sys.argv[1:])
print("LOADED", *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
sys.exit(code)
"""


def loaded(cli, *words):
    argv = [sys.executable, "-c", LOADED, *map(str, words)]
    ran = subprocess.run(argv, env=cli.environ(), cwd=cli.home, capture_output=True, text=True, timeout=60, check=False)
    return set(ran.stderr.rpartition("LOADED ")[2].split())


def test_no_command_imports_a_heavy_library_that_it_does_not_use(cli, snapshot_file):
    path = snapshot_file("x.json")
    for words in (("--help",), ("list",), ("show", path), ("snapshot", "local", "--only", "system"), ("probes",)):
        found = loaded(cli, *words)
        assert "typer" in found
        assert found & HEAVY == set(), words


def test_help_imports_no_command_and_no_room_behind_it(cli):
    argv = [sys.executable, "-X", "importtime", "-m", "driftwatch", "--help"]
    ran = subprocess.run(argv, env=cli.environ(), cwd=cli.home, capture_output=True, text=True, timeout=60, check=False)
    found = set(re.findall(r"driftwatch\.([a-z]+(?:\.[a-z]+)?)", ran.stderr))
    assert "cli.wiring" in found
    assert not found & {"capture", "store", "compare", "explain", "transports", "model", *(f"cli.{name}" for name in summaries())}


@pytest.mark.parametrize(("words", "variables", "is_colored"), [
    ((), {}, True),
    ((), {"NO_COLOR": "1"}, False),
    (("--color", "always"), {"NO_COLOR": "1"}, True),
    (("--color", "never"), {"FORCE_COLOR": "1"}, False),
    ((), {"TERM": "dumb"}, False),
])
def test_colour_follows_the_option_then_the_variables_then_the_terminal(cli, snapshot_file, words, variables, is_colored):
    path = snapshot_file("x.json")
    assert ("\x1b[" in cli.on_a_terminal("show", path, "--no-pager", *words, **variables)) is is_colored


def test_a_pipe_gets_no_colour_unless_it_is_forced(cli, snapshot_file):
    path = snapshot_file("x.json")
    assert "\x1b" not in cli.run("show", path).stdout
    assert "\x1b[" in cli.run("show", path, CLICOLOR_FORCE="1").stdout


def test_a_long_answer_on_a_terminal_goes_through_the_pager(cli, snapshot_file):
    path = snapshot_file("x.json", **{f"x/{number}": number for number in range(200)})
    assert "PAGED" in cli.on_a_terminal("show", path, "--all", DRIFTWATCH_PAGER="sed s/^x/PAGED/", LINES="24", COLUMNS="80")
    assert "PAGED" not in cli.on_a_terminal("show", path, "--all", "--no-pager", DRIFTWATCH_PAGER="sed s/^x/PAGED/")


def test_tab_offers_hosts_and_tags_from_names_alone(cli, snapshot_file):
    cli.run("list")
    folder = cli.store / "hosts" / "gpu-a" / "labels"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "good").touch()
    offered = cli.run(_DRIFTWATCH_COMPLETE="complete_bash", COMP_WORDS="driftwatch show gpu-a@", COMP_CWORD="2").stdout.split()
    assert offered == ["gpu-a@last", "gpu-a@good"]

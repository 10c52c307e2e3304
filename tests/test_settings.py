"""Settings: the nearest file wins whole, what nobody reads is refused, and nothing is read twice."""

from __future__ import annotations

import grp
import os

import pytest

from driftwatch.settings import SettingsError, load_settings, read_environment, store_place


@pytest.fixture
def home(tmp_path):
    for name in ("home/.config/driftwatch", "work/below"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def load(home, *, named=None, **variables):
    return load_settings({"HOME": str(home / "home"), **variables}, home / "work" / "below", named)


def test_without_a_file_everything_has_its_default(home):
    assert load(home).file is None


def test_the_nearest_file_wins_whole(home):
    (home / "home/.config/driftwatch/config.toml").write_text('store = "/user"\n[redact]\nalso_show = ["X"]\n')
    assert load(home).also_show == ("X",)
    (home / "work/pyproject.toml").write_text('[tool.driftwatch]\nstore = "/project"\n')
    assert (load(home).store, load(home).also_show) == ("/project", ())
    (home / "work/below/driftwatch.toml").write_text('store = "/here"\n')
    assert load(home).store == "/here"


@pytest.mark.parametrize("text", [
    "[project]\nname = 'x'\nthis is no TOML", "driftwatch is no TOML", "[tool]\ndriftwatch = 5", "tool = 'driftwatch'", "[tool.driftwatch-x]\na = 1",
    "# [tool.driftwatch]\n",
])
def test_a_pyproject_of_others_is_passed_over(home, text):
    (home / "home/.config/driftwatch/config.toml").write_text('store = "/user"\n')
    (home / "work/pyproject.toml").write_text(text)
    assert load(home).store == "/user"
    assert load(home, named=str(home / "home/.config/driftwatch/config.toml")).store == "/user"


@pytest.mark.parametrize("text", ["tool.driftwatch.store = '/p'", "[tool]\ndriftwatch = { store = '/p' }", "[ tool . driftwatch ]\nstore = '/p'"])
def test_the_table_of_a_pyproject_may_be_written_in_any_way(home, text):
    (home / "work/pyproject.toml").write_text(text)
    assert load(home).store == "/p"
    assert load(home, named=str(home / "work/pyproject.toml")).store == "/p"


def test_a_broken_pyproject_with_our_table_is_told(home):
    (home / "work/pyproject.toml").write_text("[tool.driftwatch]\nstore = ")
    with pytest.raises(SettingsError, match="no TOML"):
        load(home)


def test_a_named_file_goes_before_the_variable_and_both_before_what_is_found(home):
    (home / "work/below/driftwatch.toml").write_text('store = "/here"\n')
    for name in ("a", "b"):
        (home / name).write_text(f'store = "/{name}"\n')
    assert load(home, DRIFTWATCH_CONFIG=str(home / "b")).store == "/b"
    assert load(home, named=str(home / "a"), DRIFTWATCH_CONFIG=str(home / "b")).store == "/a"


def test_every_known_key_is_read(home):
    (home / "work/driftwatch.toml").write_text(
        'store = "/s"\nssh_options = ["ProxyJump=x"]\n[profiles.prod]\ntransport = "paramiko"\npython = "/p"\nsource = "/src"\n'
        'deadline = { host = 90, nvml = 20.5 }\n[redact]\nalso_show = ["A"]\n[rules]\npaths = ["site", "/abs"]\n',
    )
    found = load(home)
    prod = found.profile("prod")
    assert (found.ssh_options, found.also_show, [str(one) for one in found.rules]) == (("ProxyJump=x",), ("A",), [str(home / "work/site"), "/abs"])
    assert (prod.transport, prod.pythons, prod.source, dict(prod.deadlines_s)) == ("paramiko", ("/p",), "/src", {"host": 90.0, "nvml": 20.5})


@pytest.mark.parametrize(("text", "what", "do"), [
    ("stor = 1", "unknown key 'stor'", "did you mean 'store'?"),
    ("[redact]\nalso_shown = []", "unknown key 'redact.also_shown'", "did you mean 'also_show'?"),
    ("[profiles.prod]\nzzz = 1", "unknown key 'profiles.prod.zzz'",
     "known here: transport, python, source, deadline, like, packages, env_prefixes, with, skip"),
    ("store = 1", "'store' must be a text", ""),
    ("[redact]\nalso_show = [1]", "'redact.also_show' must be a list of texts", ""),
    ("[profiles.prod]\ndeadline = { nvml = -1 }", "'profiles.prod.deadline.nvml' must be a number of seconds above 0", ""),
    ("[profiles.prod]\ntransport = 'telnet'", "profiles.prod.transport is 'telnet'", "one of: openssh, paramiko, local"),
    ("store = ", "the config file is no TOML", ""),
    ("[alerts]\nwebhook = 'https://h:abc/x'", "'alerts.webhook' must be an address", ""),
    ("[audit]\npush_gateway = 'https://[::1/x'", "'audit.push_gateway' must be an address", ""),
    ("[rules]\npaths = ['~nosuchuser/r']", "there is no home folder ~nosuchuser: ~nosuchuser/r", "write the whole path"),
    ("[alerts]\nwebhook_secret = '~nosuchuser/k'", "there is no home folder ~nosuchuser", ""),
    ("a = " + "[" * 5000, "the config file is no TOML", ""),
])
def test_what_nobody_reads_is_refused_with_place_and_nearest_key(home, text, what, do):
    (home / "work/driftwatch.toml").write_text(text)
    with pytest.raises(SettingsError) as refused:
        load(home)
    assert refused.value.what.startswith(what)
    assert refused.value.where == str(home / "work/driftwatch.toml")
    assert do in refused.value.do


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file away needs root")
def test_a_file_of_somebody_else_is_not_followed(home):
    path = home / "work/driftwatch.toml"
    path.write_text('ssh_options = ["ProxyCommand=touch PWNED"]\n')
    os.chown(path, 65534, 65534)
    with pytest.raises(SettingsError, match="somebody else owns it"):
        load(home)


def test_a_file_that_all_may_write_is_not_followed(home):
    path = home / "work/driftwatch.toml"
    path.write_text('store = "/x"\n')
    path.chmod(0o666)
    with pytest.raises(SettingsError, match="may write to it"):
        load(home)


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file to another group needs root")
@pytest.mark.parametrize(("group", "is_followed"), [(0, not grp.getgrgid(0).gr_mem), (65534, False)])
def test_a_file_that_a_group_may_write_is_followed_where_the_group_is_the_owner_alone(home, group, is_followed):
    path = home / "work/driftwatch.toml"
    path.write_text('store = "/x"\n')
    os.chown(path, 0, group)
    path.chmod(0o664)
    if is_followed:
        assert load(home).store == "/x"
    else:
        with pytest.raises(SettingsError, match="may write to it"):
            load(home)


def test_a_home_that_there_is_not_is_told(home):
    with pytest.raises(SettingsError, match="no home folder ~nosuchuser"):
        load(home, named="~nosuchuser/x.toml")


@pytest.mark.parametrize(("variables", "color"), [
    ({}, None), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, None), ({"FORCE_COLOR": "1"}, True), ({"CLICOLOR_FORCE": "0"}, None),
    ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
])
def test_variables_say_whether_colour_is_wanted(variables, color):
    assert read_environment(variables).color is color


def test_the_store_is_the_options_then_the_variables_then_the_files(home):
    (home / "work/driftwatch.toml").write_text('store = "/file"\n')
    assert store_place(load(home)) == "/file"
    assert store_place(load(home, DRIFTWATCH_STORE="/variable")) == "/variable"
    assert store_place(load(home, DRIFTWATCH_STORE="/variable"), "s3://option/x") == "s3://option/x"

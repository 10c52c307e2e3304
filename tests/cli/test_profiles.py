"""``--profile`` takes a built-in profile or one of the config file, and says what is wrong with one that cannot be followed."""

from __future__ import annotations

import json

import pytest

from driftwatch.cli.wiring.profiles import chosen
from driftwatch.settings import SettingsError, load_settings


def settings_of(folder, text=""):
    (folder / "driftwatch.toml").write_text(text)
    return load_settings({"HOME": str(folder)}, folder)


def test_without_a_name_it_is_sglang_s(tmp_path):
    assert chosen(None, settings_of(tmp_path)).choice.name == "sglang"


def test_a_site_s_own_adds_to_the_built_in_one_that_it_names(tmp_path):
    text = '[profiles.prod]\nlike = "vllm"\npackages = "our_kernels"\nwith = "imports"\npython = "/p"\ndeadline = { host = 90 }\n'
    found = chosen("prod", settings_of(tmp_path, text))
    assert {"flash_attn", "our_kernels"} <= set(found.choice.packages)
    assert (found.choice.name, found.choice.groups, found.profile.pythons, found.choice.deadlines_s["host"]) == ("prod", ("imports",), ("/p",), 90.0)


def test_a_site_s_own_under_a_built_in_name_adds_to_that(tmp_path):
    settings = settings_of(tmp_path, '[profiles.sglang]\nskip = ["git"]\n[profiles.vllm]\nenv_prefixes = ["OURS_"]\n')
    assert chosen(None, settings).choice.skip == ("git",)
    assert "flash_attn" in chosen("vllm", settings).choice.packages


@pytest.mark.parametrize(("text", "what"), [
    ('like = "nope"', "profiles.prod.like is 'nope'"), ('env_prefixes = [""]', "'profiles.prod.env_prefixes' must be a list of names"),
    ('packages = ["../x"]', "'profiles.prod.packages' must be a list of names"), ("withs = []", "unknown key 'profiles.prod.withs'"),
])
def test_a_profile_that_cannot_be_followed_is_refused_with_its_place(tmp_path, text, what):
    with pytest.raises(SettingsError) as refused:
        chosen("prod", settings_of(tmp_path, f"[profiles.prod]\n{text}\n"))
    assert refused.value.what.startswith(what)
    assert refused.value.where == str(tmp_path / "driftwatch.toml")


def test_a_snapshot_by_a_profile_carries_its_name_and_is_whole(cli):
    (cli.home / "driftwatch.toml").write_text('[profiles.small]\nskip = ["git", "sources", "packages", "record", "versions"]\n')
    ran = cli.run("snapshot", "--profile", "small", "-o", "x.json")
    assert ran.returncode in (0, 3), ran.stderr
    document = json.loads((cli.home / "x.json").read_text())
    assert (document["profile"], document.get("partial")) == ("small", None)
    assert document["probes"]["git"]["reason"] == "not asked: profile small skips it"


def test_a_probe_that_a_profile_names_wrongly_is_refused_before_anything_is_asked(cli):
    (cli.home / "driftwatch.toml").write_text('[profiles.small]\nskip = ["gti"]\n')
    ran = cli.run("snapshot", "--profile", "small")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "there is no probe 'gti'" in ran.stderr

from __future__ import annotations

import json


def pip_list(cli, name, **versions):
    path = cli.home / f"{name}.txt"
    rows = [f"{package:<12} {version}" for package, version in {"pip": "25.0", "wheel": "0.45.1", "numpy": "2.1.0", **versions}.items()]
    path.write_text("\n".join([f"{'Package':<12} Version", f"{'-' * 12} -------", *rows]) + "\n")
    return path


def test_sets_leave_what_is_constant_among_the_good_and_another_among_the_broken(cli):
    goods = [pip_list(cli, "a", torch="2.8.0", rich="1.0"), pip_list(cli, "b", torch="2.8.0", rich="2.0")]
    bads = [pip_list(cli, "c", torch="2.9.0", rich="3.0"), pip_list(cli, "d", torch="2.9.0", rich="1.0")]
    words = [word for flag, paths in (("--good", goods), ("--bad", bads)) for path in paths for word in (flag, path)]
    ended = cli.run("diff", *words, "--symptom", "slow", "--format", "json")
    seen = [change["path"] for change in json.loads(ended.stdout)["changes"] if not change["folded"]]
    assert (ended.returncode, seen) == (1, ["packages/torch/version"])


def test_sets_say_how_much_was_left_out(cli):
    ended = cli.run("diff", "--good", pip_list(cli, "a", rich="1"), "--good", pip_list(cli, "b", rich="2"), "--bad", pip_list(cli, "c", rich="3"))
    assert "note: 1 difference left out" in ended.stderr


def test_sets_need_both_sides(cli):
    ended = cli.run("diff", "--good", pip_list(cli, "a"))
    assert (ended.returncode, "at least one --good REF and one --bad REF" in ended.stderr) == (2, True)


def test_sets_and_single_sides_are_not_mixed(cli):
    assert cli.run("diff", pip_list(cli, "a"), "--bad", pip_list(cli, "b")).returncode == 2

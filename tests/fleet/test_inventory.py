"""Inventories: what each kind lists, what words mean, and what is said of a line or a name that is wrong."""

from __future__ import annotations

import json

import pytest

from driftwatch.fleet.errors import FleetError
from driftwatch.fleet.inventory import KINDS, Inventory, Member, load_inventory, read_source, select
from driftwatch.fleet.listed import Listed
from driftwatch.fleet.sources import ansible, ansible_ini, plain, slurm
from driftwatch.settings import Group

INI = """\
gpu-z
[h100]
gpu-[01:02] ansible_user=root
gpu-b ansible_host=192.0.2.7 ansible_port=2222
[h100:vars]
ansible_user = ops
[site:children]
h100
"""
LIST = {
    "_meta": {"hostvars": {
        "gpu-01": {"ansible_host": "192.0.2.1", "ansible_user": "root"}, "gpu-02": {"ansible_port": 2222}, "here": {"ansible_connection": "local"},
    }},
    "all": {"children": ["ungrouped", "site"]},
    "site": {"children": ["h100"]},
    "h100": {"hosts": ["gpu-01", "gpu-02"]},
    "ungrouped": {"hosts": ["here"]},
}


def by_name(listed):
    return {one.name: one for one in listed}


def test_a_plain_list_has_groups_comments_ranges_and_logins():
    found = plain.parse("# all\n[gpu]\ngpu[1-2], root@gpu-x  # one more\nssh://ops@h:2222\n", "hosts.txt")
    assert [(one.name, one.dest, one.groups) for one in found] == [
        ("gpu1", "gpu1", ("gpu",)), ("gpu2", "gpu2", ("gpu",)), ("gpu-x", "root@gpu-x", ("gpu",)), ("h", "ssh://ops@h:2222", ("gpu",)),
    ]


@pytest.mark.parametrize("line", ["-oProxyCommand=x", "a;b", "gpu[1-", "$(x)", "ssh://h:99999"])
def test_a_line_that_is_no_host_is_refused_with_file_and_line(line):
    with pytest.raises(FleetError) as refused:
        plain.parse(f"gpu-a\n{line}\n", "hosts.txt")
    assert refused.value.where == "hosts.txt, line 2"


def test_an_ansible_list_gives_the_way_to_each_host_and_all_groups_above_it():
    found = by_name(ansible.parse_list(json.dumps(LIST), "inv.json"))
    assert (found["gpu-01"].dest, found["gpu-02"].dest, found["here"].dest) == ("root@192.0.2.1", "ssh://gpu-02:2222", "local")
    assert set(found["gpu-01"].groups) == {"h100", "site"}


def test_an_ansible_list_whose_groups_go_in_a_circle_ends():
    circle = {"_meta": {"hostvars": {}}, "a": {"children": ["b"], "hosts": ["h"]}, "b": {"children": ["a"]}}
    assert by_name(ansible.parse_list(json.dumps(circle), "inv.json"))["h"].groups == ("a", "b")


@pytest.mark.parametrize("group", ['{"hosts": 1e999}', '{"children": 7}', '{"hosts": {"h": 1}}', '{"children": [["a"], {}, "b"]}', '"b"'])
def test_a_group_of_an_ansible_list_that_is_of_another_shape_holds_nobody(group):
    assert ansible.parse_list(f'{{"_meta": {{"hostvars": {{"h": {{}}}}}}, "a": {group}}}', "inv.json")[0].groups == ()


def test_groups_of_an_ansible_list_may_lie_deeper_than_python_goes():
    deep = {f"g{at}": {"children": [f"g{at + 1}"]} for at in range(1500)} | {"_meta": {"hostvars": {}}, "all": {"children": ["g0"]}, "g1500": {"hosts": ["h"]}}
    assert by_name(ansible.parse_list(json.dumps(deep), "inv.json"))["h"].groups[-1] == "g1500"


@pytest.mark.parametrize("text", ["{", "{}", '{"_meta": []}', "{" * 100_000])
def test_what_is_no_ansible_list_is_refused_with_the_command_that_makes_one(text):
    with pytest.raises(FleetError, match="inventory") as refused:
        ansible.parse_list(text, "inv.json")
    assert "ansible-inventory --list" in refused.value.do


def test_an_ansible_ini_has_ranges_variables_of_groups_and_children():
    found = by_name(ansible_ini.parse_ini(INI, "hosts.ini"))
    assert {name: one.dest for name, one in found.items()} == {"gpu-z": "gpu-z", "gpu-01": "root@gpu-01", "gpu-02": "root@gpu-02", "gpu-b": "ssh://ops@192.0.2.7:2222"}
    assert found["gpu-b"].groups == ("h100", "site")


def test_a_broken_line_of_an_ini_is_refused_with_file_and_line():
    with pytest.raises(FleetError) as refused:
        ansible_ini.parse_ini("[gpu]\ngpu-a nonsense\n", "hosts.ini")
    assert refused.value.where == "hosts.ini, line 2"


YAML = """\
all:
  vars: {ansible_user: ops}
  hosts:
    gpu-z:
  children:
    site:
      children:
        h100:
          vars: {ansible_user: root}
          hosts:
            gpu-[01:02]:
            gpu-b: {ansible_host: 192.0.2.7, ansible_port: 2222, ansible_user: me}
"""


def test_an_ansible_yaml_has_ranges_variables_of_groups_and_children():
    found = by_name(ansible.parse_yaml(YAML, "hosts.yml"))
    assert {name: one.dest for name, one in found.items()} == {
        "gpu-z": "ops@gpu-z", "gpu-01": "root@gpu-01", "gpu-02": "root@gpu-02", "gpu-b": "ssh://me@192.0.2.7:2222",
    }
    assert found["gpu-b"].groups == ("h100", "site")


@pytest.mark.parametrize("text", ["[", "a: b: c", "- x", "!!python/object:os.system {}", "&a [*a]"])
def test_what_is_no_yaml_inventory_is_refused(text):
    with pytest.raises(FleetError):
        ansible.parse_yaml(text, "hosts.yml")


def test_sinfo_lists_each_node_once_with_its_partitions():
    assert slurm.parse("n1 gpu*\nn2 gpu*\nn1 debug\n") == (Listed("n1", "n1", ("gpu", "debug")), Listed("n2", "n2", ("gpu",)))


def test_ssh_configs_names_are_those_without_a_pattern_and_includes_are_followed(tmp_path):
    (tmp_path / "more").write_text("Host gpu-c\n", encoding="utf-8")
    (tmp_path / "config").write_text("Host gpu-a gpu-b *.example !x\n  User root\nInclude more nothing-there\nHost *\n", encoding="utf-8")
    assert [one.name for one in read_source(f"ssh-config:{tmp_path / 'config'}")] == ["gpu-a", "gpu-b", "gpu-c"]


def test_ssh_configs_words_may_stand_in_quotes_and_a_relative_include_stands_beside_the_users_own_file(tmp_path):
    (tmp_path / "conf.d").mkdir()
    for name, text in (("config", 'Include "conf.d/a file"\n'), ("conf.d/a file", "Include=more # isn't it\nHost b # of Tom's\n"), ("more", '\thost\t"c" d\n')):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert [one.name for one in read_source(f"ssh-config:{tmp_path / 'config'}")] == ["c", "d", "b"]


def test_a_quote_that_is_not_closed_in_an_ssh_config_is_told_with_its_line(tmp_path):
    (tmp_path / "config").write_text('\nHost "a b\n', encoding="utf-8")
    with pytest.raises(FleetError) as refused:
        read_source(f"ssh-config:{tmp_path / 'config'}")
    assert refused.value.where == f"{tmp_path / 'config'}, line 2"


@pytest.mark.parametrize("source", ["ssh-config:~nosuchuser/config", "list:~nosuchuser/hosts", "ansible:~nosuchuser/hosts.ini"])
def test_a_home_that_there_is_not_is_told(source):
    with pytest.raises(FleetError, match="no home folder ~nosuchuser"):
        read_source(source)


def test_an_ssh_config_that_includes_itself_is_refused(tmp_path):
    (tmp_path / "config").write_text("Include config\n", encoding="utf-8")
    with pytest.raises(FleetError, match="deeper"):
        read_source(f"ssh-config:{tmp_path / 'config'}")


def test_a_node_set_speaks_clustershells_language():
    assert [one.name for one in read_source("nodeset:gpu[01-04]!gpu02")] == ["gpu01", "gpu03", "gpu04"]


def test_a_kind_that_there_is_not_lists_those_there_are():
    with pytest.raises(FleetError) as refused:
        read_source("salt:x")
    assert all(kind in refused.value.do for kind in KINDS)


FLEET = Inventory(
    {name: Member(name, dest, "prod") for name, dest in (("gpu-1", "root@gpu-1"), ("gpu-2", "gpu-2"), ("db", "db"))},
    {"prod": ("gpu-1", "gpu-2", "db"), "gpus": ("gpu-1", "gpu-2")},
)


def chosen(*words, text=""):
    return [one.dest for one in select(words, FLEET, lambda _: text)]


def test_no_word_means_all_that_are_configured():
    assert chosen() == ["root@gpu-1", "gpu-2", "db"]


@pytest.mark.parametrize(("word", "dests"), [
    ("@gpus", ["root@gpu-1", "gpu-2"]), ("gpu-*", ["root@gpu-1", "gpu-2"]), ("gpu-1", ["root@gpu-1"]), ("gpu-[1-3]", ["root@gpu-1", "gpu-2", "gpu-3"]),
    ("ops@gpu-1", ["ops@gpu-1"]), ("db,other", ["db", "other"]),
])
def test_words_mean_groups_globs_ranges_and_hosts_of_their_own(word, dests):
    assert chosen(word) == dests


def test_a_host_named_twice_is_asked_once():
    assert chosen("gpu-1", "@prod", "gpu-1") == ["root@gpu-1", "gpu-2", "db"]


def test_a_dash_reads_a_list():
    assert chosen("-", text="gpu-2\nx\n") == ["gpu-2", "x"]


def test_an_unknown_group_names_the_nearest():
    with pytest.raises(FleetError) as refused:
        chosen("@gpu")
    assert refused.value.do == "did you mean gpus?"


@pytest.mark.parametrize("words", [("none-*",), ("-",)])
def test_an_empty_selection_is_an_error(words):
    with pytest.raises(FleetError):
        chosen(*words)


def test_a_host_in_two_groups_is_asked_as_the_first_says():
    found = load_inventory({"a": Group(("root@h",)), "b": Group(("h", "i"))})
    assert (found.members["h"], found.groups["b"]) == (Member("h", "root@h", "a"), ("h", "i"))

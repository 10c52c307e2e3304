from driftwatch.explain.explanation import Subject
from driftwatch.report.clean import clean
from driftwatch.report.facts import render_facts
from driftwatch.report.page import Page, measure
from driftwatch.report.table import columns
from driftwatch.report.words import say_path, say_subject, say_value


def test_control_and_format_characters_are_shown_and_all_else_is_left():
    assert clean("a\x1b[1m\tb\u202ec\u200d\ud800 é日") == "a\\x1b[1m\\x09b\\u202ec\\u200d\\ud800 é日"


def test_a_table_is_aligned_by_its_widest_cells():
    assert columns([["gpu-a@good", "ok", "first"], ["b", "timeout", "second"]], Page(80)) == "gpu-a@good  ok       first\nb           timeout  second\n"


def test_the_last_cell_of_a_table_is_wrapped_under_itself():
    drawn = columns([["nvml", "word " * 30]], Page(60))
    assert all(line.startswith("      word") for line in drawn.splitlines()[1:])
    assert max(map(measure, drawn.splitlines())) <= 60


def test_a_table_with_endless_cells_stays_on_the_page():
    drawn = columns([["x" * 200, "y" * 200, "z"], ["a", "b", "c"]], Page(80))
    assert max(map(measure, drawn.splitlines())) <= 80


def test_a_table_without_rows_or_with_uneven_rows_is_no_error():
    assert columns([], Page()) == ""
    assert columns([[], ["a"], ["b", "c"]], Page()) == "\na\nb  c\n"


def test_facts_are_one_line_each_and_an_unknown_one_says_why():
    unknown, secret = {"unknown": "timeout", "reason": "no answer"}, {"keyed": "hmac-sha256:0123456789abcdef"}
    facts = {"env/B": "x\ny", "env/A": None, "gpus/count": unknown, "env/K": secret, "a/list": ["é", 1]}
    assert render_facts(facts, Page(80)) == 'a/list  ["é", 1]\nenv/A  unset\nenv/B  x\\x0ay\nenv/K  secret 0123456\ngpus/count  ? timeout: no answer\n'


def test_a_value_is_short_for_people_and_an_empty_text_is_seen():
    assert say_value("") == '""'
    assert say_value("sha256:" + "ab" * 32 + " 1234") == "sha256 abababa… 1234"
    assert len(say_value("x" * 1000)) == 160
    assert say_value(True) == "true"


def test_an_object_is_told_without_brackets_and_without_what_is_not_there():
    assert say_value({"status": "??", "only": None, "pids": [4121, 4122]}) == "pids 4121, 4122, status ??"
    assert say_value({"only": None}) == "{}"
    assert say_value([]) == "[]"


def test_known_facts_have_the_names_that_people_know():
    assert say_path("packages/torch/version") == "torch"
    assert say_path("servers/sglang/given/mem_fraction_static") == "--mem-fraction-static"
    assert say_path("sources/sglang/files/srt%2Fmodel.py") == "srt/model.py"
    assert say_path("packages/torch/record") == "packages/torch/record"


def test_a_subject_says_its_kind_where_its_name_does_not():
    assert say_subject(Subject("pcie-link", "0000:17:00.0")) == "pcie link 0000:17:00.0"
    assert say_subject(Subject("kernel-module", "kernel module nvidia")) == "kernel module nvidia"
    assert say_subject(Subject("launch-arg", "tp_size")) == "--tp-size"

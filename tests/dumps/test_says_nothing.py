"""A paste that is recognised and tells no fact is refused with what was looked for; one that tells a failure, or what is absent, says something."""

import pytest

from driftwatch.dumps.format import NoDump, NoFacts
from driftwatch.dumps.read import read_dump
from driftwatch.model import Known

LOG = "INFO 02-26 16:18:14 __init__.py:28] No plugins\nINFO 02-26 16:18:15 __init__.py:34] Checking the platform\n"


@pytest.mark.parametrize(("text", "kind"), [
    (LOG, "server-log"), ("$ ds_report\nDeepSpeed general environment info:\ntorch install path ............... ['\n", "ds-report"),
    ("  llm:\n    image:\n    build: .\n    restart: always\n", "docker-compose"),
])
def test_a_paste_without_a_fact_is_refused_by_its_kind(text, kind):
    with pytest.raises(NoFacts, match=f"read as .*{kind}.*was searched for"):
        read_dump(text, "paste")


def test_the_refusal_tells_why_where_the_format_notes_it():
    with pytest.raises(NoFacts, match="no version is told"):
        read_dump("DeepSpeed general environment info:\ntorch install path ............... ['\n", "paste")


def test_a_text_that_no_format_knows_is_refused_as_that():
    with pytest.raises(NoDump) as refused:
        read_dump("It worked yesterday.\n", "paste")
    assert not isinstance(refused.value, NoFacts)


def test_a_log_that_tells_only_a_failure_says_something():
    snapshot = read_dump(LOG + 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nRuntimeError: CUDA out of memory\n', "paste")
    assert snapshot.symptom is not None


def test_a_whole_list_of_variables_of_which_none_matters_tells_what_is_not_set():
    text = "$ env\n" + "".join(f"SHELL_THING_{letter}=1\n" for letter in "abcdefghij") + "PATH=/usr/bin\nPWD=/\n$ \n"
    assert read_dump(text, "paste").get("env/NCCL_DEBUG") == Known(None)

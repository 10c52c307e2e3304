"""Text from strangers: refused with what was looked for, or read without harm."""

import secrets

import pytest

from driftwatch.dumps.clean import LARGEST_TEXT, decode
from driftwatch.dumps.format import NoDump
from driftwatch.dumps.read import MOST_FACTS, formats, read_dump
from driftwatch.model import SOURCES

VARIABLES = "PATH=/usr/bin\nLD_LIBRARY_PATH=/usr/lib\nNCCL_DEBUG=WARN\n"


def test_every_format_goes_by_a_name_of_the_contract():
    assert {one.name for one in formats()} <= set(SOURCES)


@pytest.mark.parametrize("text", ["Dear all,\nthe server is slow since Monday.\nRegards\n", "[" * 100_000 + "]" * 100_000, "a" * 200_000, '{"a": 1}\n', " \n"])
def test_a_text_that_no_tool_printed_is_refused(text):
    with pytest.raises(NoDump):
        read_dump(text, "paste")


def test_a_refusal_says_what_was_looked_for():
    with pytest.raises(NoDump, match=r"sglang\.check_env.*torch\.utils\.collect_env"):
        read_dump("hello\n", "paste")


@pytest.mark.parametrize("data", [b"torch==2.9.1\0\0\0\nnumpy==1.0\n", b"\x7fELF\x02\x01\x01" + b"\0" * 50, b"x" * (LARGEST_TEXT + 1)])
def test_bytes_that_are_no_text_or_too_many_are_refused(data):
    with pytest.raises(NoDump):
        decode(data)


def test_random_bytes_are_refused():
    with pytest.raises(NoDump):
        read_dump(decode(secrets.token_bytes(20_000)), "paste")


def test_a_list_from_powershell_is_read():
    assert read_dump(decode("torch==2.9.1\r\nnumpy==2.3.4\r\n".encode("utf-16")), "paste").facts["packages/numpy/version"] == "2.3.4"


def test_a_version_with_a_hidden_sign_in_it_is_no_version():
    assert "packages/numpy/version" not in read_dump("torch==2.9.1\nnumpy==1.26\u202e4\nscipy==1.0\n", "paste", read_as="pip-freeze").facts


def test_a_text_made_to_be_slow_is_read_in_time():
    text = "torch==" + "1." * 30_000 + "x\n" + "a-" * 50_000 + "\n" + "Package" + " " * 100_000 + "x\n" + "[" * 50_000 + "\n"
    with pytest.raises(NoDump):
        read_dump(text, "paste")


def test_more_facts_than_a_host_can_have_are_refused():
    with pytest.raises(NoDump, match="facts"):
        read_dump("".join(f"p{number}=={number}\n" for number in range(MOST_FACTS + 1)), "paste")


def test_a_pasted_secret_stays_none_of_our_business():
    token, word = "hf_" + "q" * 34, "pass-" + "w" * 16
    snapshot = read_dump(f"{VARIABLES}HF_TOKEN={token}\nNCCL_PASSWORD={word}\nPIP_INDEX_URL=https://ci:{word}@host.example/simple\nMY_OWN={word}\n", "paste")
    assert token not in str(snapshot)
    assert word not in str(snapshot)
    assert snapshot.facts["env/NCCL_DEBUG"] == "WARN"


def test_a_login_in_a_url_of_a_package_is_masked():
    text = "a==1.0\nb==1.0\nsecretive @ git+https://bot:ghp_" + "a1" * 18 + "@host.example/x.git@0123456789abcdef0123456789abcdef01234567\n"
    assert "a1a1" not in str(read_dump(text, "paste"))

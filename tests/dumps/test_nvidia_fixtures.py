"""What real nvidia-smi, lspci, ibstat and kernels printed (tests/fixtures/nvidia), pasted: read as facts, or refused in words. Never a traceback."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from driftwatch.dumps.format import NoDump
from driftwatch.dumps.read import read_dump
from driftwatch.dumps.smi_query import parse_xml
from driftwatch.model import is_unknown

TOP = Path(__file__).parents[1] / "fixtures/nvidia"
FILES = sorted(path for path in TOP.glob("*/*") if path.is_file() and path.parent.name != "licences")
NO_PASTE = re.compile(r"lspci/|errors/gpud__(fabricmanager|file-nr|kmsg|mountinfo|nccl_dmesg)")  # no dump format: nobody describes a host with these


def names(path):
    return f"{path.parent.name}/{path.name}"


def text_of(path):
    return path.read_bytes().decode("utf-8", "surrogateescape")


def plausible(facts):
    """Tell of a GPU's figures whether they can be true: what was not told is left out or unknown, and never zero."""
    for path, value in facts.items():
        if path.startswith("gpus/") and isinstance(value, (int, float)) and path.endswith(("memory_total_mib", "power_limit_w", "link/width_max")):
            assert value > 0, path


@pytest.mark.parametrize("path", FILES, ids=names)
def test_as_a_paste_it_is_read_or_refused_in_words(path):
    is_heading_alone = path.suffix == ".csv" and text_of(path).count("\n") < 2
    if NO_PASTE.match(names(path)) or is_heading_alone or not text_of(path):
        with pytest.raises(NoDump):
            read_dump(text_of(path), path.name)
        return
    facts = read_dump(text_of(path), path.name).facts
    assert facts
    assert all(value["reason"] for value in facts.values() if is_unknown(value))
    plausible(facts)
    json.dumps(facts)


@pytest.mark.parametrize("path", sorted(TOP.glob("xml/*")), ids=names)
@pytest.mark.parametrize("around", ["%s", "<details>\n<summary>nvidia-smi -q -x</summary>\n\n```xml\n%s\n```\n\n</details>\n"], ids=["bare", "in an issue"])
def test_an_xml_document_tells_the_same_wherever_it_is_pasted(path, around):
    facts = read_dump(around % text_of(path).rstrip(), path.name, "nvidia-smi").facts
    alone = {place: value for place, value in parse_xml(text_of(path)).facts.items() if value is not None}
    assert {place for place in alone if not place.startswith("gpus/") or not is_unknown(facts.get(place))} <= facts.keys()
    assert len([place for place in facts if place.startswith("gpus/")]) == len([place for place in alone if place.startswith("gpus/")])

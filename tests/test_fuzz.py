"""The fuzz targets (fuzz/) without a fuzzer: each is run on some of its seeds, so that none rots. Finding more is done by hand: ``python -m fuzz``."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from fuzz.seeds import ROOT, dictionary, seeds
from fuzz.targets import MADE, agent_parsers, parsed, targets

TARGETS = targets()
ONE_IN = 20
ENDLESS = (b"[", b"\n", b" ", b"1", b"```")
ENDLESS_BYTES, LONG_RUN = 64 << 10, 250_000  # less than the longest line that is read of a paste
LONG = (  # each took minutes once
    ("agent.collectors.nvml.parse_information", b"State:\tS (", b" "), ("agent.collectors.services.parse_journal", b"", b"a"),
    ("agent.collectors.system.parse_cpuinfo", b"", b" "), ("agent.collectors.network.parse_settings", b"A=1", b" "),
    ("agent.container_texts.parse_settings", b"A=1", b" "), ("agent.container_texts.parse_cdi", b"name: a", b" "),
    ("agent.os_history.parse_apt", b"Start-Date: 1", b" "), ("agent.pci_texts.parse_acs", b"", b":"),
    ("agent.unit_files.parse_show", b"A=1", b" "), ("agent.unit_files.parse_unit", b"A=1", b" "), ("dump.conda-list", b"", b" "),
    ("dump.env", b"| a | b |\n|---|---|\n| c | d |\n", b" "),
)


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_is_calm_on_its_seeds(name):
    for seed in seeds()[list(TARGETS).index(name) % ONE_IN :: ONE_IN]:
        TARGETS[name](seed)


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_answers_one_piece_over_and_over_within_the_bound(name, bound):
    for piece in ENDLESS:
        TARGETS[name]((piece * ENDLESS_BYTES)[:ENDLESS_BYTES])


@pytest.mark.parametrize(("name", "before", "piece"), LONG)
def test_a_long_run_of_blanks_or_letters_inside_a_line_costs_no_more_than_its_length(name, before, piece, bound):
    TARGETS[name](before + piece * LONG_RUN + b"~\n")


def test_every_parser_of_the_agent_is_a_target_that_can_be_given_bytes():
    assert len(agent_parsers()) > 90
    assert {name for function in agent_parsers().values() for name in inspect.signature(function).parameters} <= set(MADE)


def test_what_a_parser_raises_beside_a_refusal_is_a_finding():
    with pytest.raises(ZeroDivisionError):
        parsed(lambda text: 1 / (len(text) - 1), b"x")


def test_the_dictionary_is_one_that_libfuzzer_reads():
    assert all(line[0] == line[-1] == '"' and len(line) % 4 == 2 for line in dictionary().splitlines())


def test_the_targets_are_told_without_a_fuzzer():
    done = subprocess.run([sys.executable, "-m", "fuzz", "--list", "snapshot", "inventory."], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["inventory.ini", "inventory.list", "inventory.yaml", "snapshot"]

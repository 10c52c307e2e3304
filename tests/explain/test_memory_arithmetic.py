# ruff: noqa: RUF001  the signs that explanations use are the point here
"""Every figure of the worked tables: SGLang's sum, what a hog costs, the balance check, and the default fraction by release."""

from __future__ import annotations

from dataclasses import replace

import pytest

from driftwatch.explain import memory
from driftwatch.explain.default_fraction import Launch, default_fraction, usual_sizes
from driftwatch.explain.memory import NEW_SWITCH, OLD_SWITCH, Start
from driftwatch.explain.releases import parse_release
from driftwatch.model import Unknown

CARD = Launch(gpu_mib=97887, tp=8)
EAGLE = replace(CARD, speculative="EAGLE")
TOWER = 0.95 * (1 - 0.1 * (27 * 1152**2 / (24 * 1024**2) - 1))  # of 27 layers, 1,152 wide


def vanishing(before):
    """Return the start that ended 20.6 GiB short."""
    return Start(before, before * 0.45 - 20.6, 0.55)


def release(text):
    return parse_release(text)


def default(text, launch):
    return default_fraction(release(text), launch)


@pytest.mark.parametrize(
    ("before", "after", "loaded", "least", "rests"),
    [
        (96, 22.60, 73.40, 0.7646, (-25.40, 3.98, 8.20)),
        (95, 22.15, 72.85, 0.7668, (-25.35, 3.72, 7.90)),
        (94, 21.70, 72.30, 0.7691, (-25.30, 3.46, 7.60)),
        (93, 21.25, 71.75, 0.7715, (-25.25, 3.21, 7.30)),
    ],
)
def test_the_vanishing_baseline_is_explained_by_its_fraction_alone(before, after, loaded, least, rests):
    start = vanishing(before)
    assert (round(start.after, 2), round(start.loaded, 2), round(start.least, 4)) == (after, loaded, least)
    assert start.least == pytest.approx(0.55 + 20.6 / before)
    assert tuple(start.rest(fraction=fraction) for fraction in (0.5, 0.806, 0.85)) == pytest.approx(rests, abs=0.0051)
    assert memory.ends(start, before, 8, "stops") == "not enough"


def test_the_worked_line_has_its_numbers():
    assert Start(94.5, 21.925, 0.55).row == "21.93 − 94.50 × (1 − 0.55)"


@pytest.mark.parametrize(
    ("text", "launch", "shown", "rests"),
    [
        ("0.5.6", replace(CARD, graph_bs=512), 0.7715, (0.66, 0.33, -0.00)),
        ("0.5.9", replace(CARD, graph_bs=512), 0.7715, (0.66, 0.33, -0.00)),
        ("0.5.12", replace(CARD, graph_bs=512, piecewise_tokens=(50, 2048)), 0.7715, (0.66, 0.33, -0.00)),
        ("0.5.9", replace(CARD, graph_bs=128), 0.7787, (1.36, 1.02, 0.67)),
        ("0.5.12", replace(CARD, graph_bs=128, piecewise_tokens=(50, 2048)), 0.7787, (1.36, 1.02, 0.67)),
        ("0.5.9", replace(EAGLE, graph_bs=512), 0.7524, (-1.17, -1.48, -1.78)),
        ("0.5.9", replace(EAGLE, graph_bs=128), 0.7596, (-0.48, -0.79, -1.10)),
        ("0.5.10", replace(EAGLE, graph_bs=128), 0.7405, (-2.31, -2.60, -2.88)),
        ("0.5.12", replace(EAGLE, graph_bs=128), 0.7405, (-2.31, -2.60, -2.88)),
    ],
)
def test_the_default_would_have_stood_at_the_edge(text, launch, shown, rests):
    fraction = default(text, replace(launch, vision=TOWER))
    assert round(fraction, 4) == shown
    starts = [vanishing(before) for before in (96, 94.5, 93)]
    assert [start.rest(fraction=fraction) for start in starts] == pytest.approx(rests, abs=0.0051)


@pytest.mark.parametrize(("graph_bs", "hog"), [(512, 0.42), (128, 1.30)])
def test_a_small_leftover_on_every_gpu_would_have_broken_the_default(graph_bs, hog):
    start = vanishing(94.5)
    at_default = replace(start, fraction=default("0.5.9", replace(CARD, graph_bs=graph_bs, vision=TOWER)))
    assert memory.room_for_hog(at_default, "every GPU") == pytest.approx(hog, abs=0.0051)


@pytest.mark.parametrize(
    ("text", "launch", "expected"),
    [
        ("0.4.3", CARD, 0.81),
        ("0.4.6", CARD, 0.864),
        ("0.4.9", CARD, 0.833),
        ("0.5.2", CARD, 0.833),
        ("0.5.9", replace(CARD, graph_bs=512), 0.848),
        ("0.5.9", CARD, 0.848),
        ("0.5.9", replace(CARD, graph_bs=128), 0.856),
        ("0.5.12", replace(CARD, graph_bs=512, piecewise_tokens=(50, 2048), is_mla=True), 0.833),
        ("0.5.12", replace(CARD, graph_bs=128, piecewise_tokens=(50, 2048), is_mla=True), 0.840),
        ("0.5.12", replace(EAGLE, graph_bs=512, piecewise_tokens=(50, 2048), is_mla=True), 0.791),
        ("0.5.12", replace(EAGLE, graph_bs=128, piecewise_tokens=(50, 2048), is_mla=True), 0.799),
    ],
)
def test_a_text_models_default_on_a_card_of_96_gb(text, launch, expected):
    assert default(text, launch) == pytest.approx(expected, abs=0.0005)


@pytest.mark.parametrize(
    ("text", "graph_bs", "expected"), [("0.4.9", None, 0.750), ("0.5.2", None, 0.791), ("0.5.9", 512, 0.806), ("0.5.9", 128, 0.813)]
)
def test_a_vision_models_default_on_a_card_of_96_gb(text, graph_bs, expected):
    assert default(text, replace(CARD, graph_bs=graph_bs, vision=0.95)) == pytest.approx(expected, abs=0.0006)


@pytest.mark.parametrize(
    ("text", "expected"), [("0.3.0", (0.88, 0.87, 0.85, 0.83, 0.79)), ("0.4.3", (0.88, 0.87, 0.85, 0.81, 0.79))]
)
def test_old_releases_look_at_the_ranks_alone(text, expected):
    assert tuple(default(text, Launch(tp=tp)) for tp in (1, 2, 4, 8, 16)) == expected


def test_046_looks_at_the_card_only_where_it_is_large():
    assert [default("0.4.6", Launch(gpu_mib=card, tp=8)) for card in (81920, 97887)] == [0.81, 0.864]


@pytest.mark.parametrize(
    ("card_mib", "ranks", "reserved_gib"), [(16000, 1, 2.9), (24564, 2, 3.0), (81559, 4, 11.5), (97871, 8, 16.0), (143771, 8, 16.0), (183359, 8, 32.0)]
)
def test_049_and_052_reserve_by_card_and_ranks(card_mib, ranks, reserved_gib):
    expected = round((card_mib - reserved_gib * 1024) / card_mib, 3)
    assert {default(text, Launch(gpu_mib=card_mib, tp=ranks)) for text in ("0.4.9", "0.5.2")} == {expected}


def reserved(text, launch):
    """Return the MiB that a default sets aside, to the precision of its three decimals."""
    return (1 - default(text, launch)) * launch.gpu_mib


@pytest.mark.parametrize(
    ("text", "more", "extra_mib"),
    [
        ("0.5.2", {"speculative": "EAGLE"}, 2048),
        ("0.5.2", {"speculative": "STANDALONE"}, 6144),
        ("0.4.9", {"speculative": "STANDALONE"}, 2048),
        ("0.5.2", {"has_dp_attention": True}, 4096),
        ("0.5.9", {"speculative": "NGRAM"}, 0),
        ("0.5.9", {"speculative": "STANDALONE"}, 6144),
        ("0.5.9", {"has_dp_attention": True, "dp": 4, "graph_bs": 512}, 4.5 * 512 * 4),
        ("0.5.9", {"has_dp_attention": True, "dp": 4, "graph_bs": 256}, 3 * 256 * 4 - 512),
        ("0.5.9", {"piecewise_tokens": (50, 8192)}, 400),
        ("0.5.6", {"piecewise_tokens": (50, 8192)}, 2048),
        ("0.5.12", {"piecewise_tokens": (50, 8192), "is_mla": False}, 400),
        ("0.5.9", {"pp": 2}, 1024),
        ("0.5.9", {"chunk": 16384}, 1.5 * 8192),
        ("0.5.9", {"chunk": -1, "max_prefill": 16384}, 1.5 * 8192),
        ("0.5.15", {"speculative": "EAGLE"}, 0),
        ("0.5.15", {"has_deepep": True}, 2048),
    ],
)
def test_what_each_argument_adds_to_the_reserve(text, more, extra_mib):
    assert reserved(text, replace(CARD, **more)) - reserved(text, CARD) == pytest.approx(extra_mib, abs=100)


def test_a_large_card_reserves_at_least_ten_gib():
    assert default("0.5.9", Launch(gpu_mib=81559, chunk=2048, graph_bs=8)) == round((81559 - 10240) / 81559, 3)


def test_sizing_after_capture_reserves_less_and_takes_eight_gib_for_vision():
    launch = replace(CARD, is_post_capture=True)
    text = round((97887 - 1536 - 1024) / 97887, 3)
    assert default("0.5.23", launch) == text
    assert default("0.5.18", replace(launch, vision=0.95)) == pytest.approx(text - 8192 / 97887)
    assert default("0.5.23", replace(CARD, is_post_capture=False)) == 0.848


@pytest.mark.parametrize(
    ("card_mib", "tp", "expected"),
    [
        (16000, 8, (2048, 8)), (24564, 2, (2048, 24)), (24564, 4, (2048, 80)), (46068, 1, (4096, 32)), (46068, 8, (4096, 160)), (81559, 1, (8192, 256)),
        (81559, 8, (8192, 512)), (143771, 2, (8192, 256)), (143771, 8, (8192, 512)), (183359, 1, (16384, 512)),
    ],
)
def test_the_usual_chunk_and_graph_batch_by_card(card_mib, tp, expected):
    assert usual_sizes((0, 5, 9), card_mib, tp) == expected


def test_a_smaller_graph_batch_moves_the_default_up():
    assert default("0.5.9", replace(CARD, graph_bs=128)) - default("0.5.9", replace(CARD, graph_bs=512)) == pytest.approx(0.008)


@pytest.mark.parametrize(
    ("text", "launch", "named"),
    [
        ("0.5.9", Launch(tp=8), "smallest card"),
        ("0.5.9", replace(CARD, tp=Unknown("not_recorded", "no log")), "tp_size"),
        ("0.5.9", replace(CARD, vision=Unknown("not_recorded", "config.json was not read")), "vision tower"),
        ("0.5.12", replace(CARD, piecewise_tokens=(50, 2048)), "MLA"),
        ("0.5.23", CARD, "sized again"),
        ("0.5.15", replace(CARD, is_split=True), "only decode"),
        ("0.4.7", CARD, "0.4.6 and 0.4.9"),
        ("9.0", CARD, "0.5.23"),
        ("0.5.10rc0", CARD, "development"),
        ("main", CARD, "no version"),
    ],
)
def test_what_is_not_known_stays_unknown_and_is_named(text, launch, named):
    found = default(text, launch)
    assert isinstance(found, Unknown)
    assert named in found.reason


def test_a_release_between_two_equal_rules_has_their_number():
    assert default("0.5.8", CARD) == default("0.5.6", CARD) == default("0.5.9.post1", CARD)


def test_a_hog_on_one_gpu_trips_the_balance_check_first():
    beside = {gib: Start(94.5 - gib, 21.93 - gib, 0.85) for gib in (8, 9.4, 9.5, 12)}
    assert memory.unbalancing(Start(94.5, 21.93, 0.85)) == pytest.approx(9.45)
    assert [memory.ends(beside[gib], 94.5, 8, "stops") for gib in (8, 9.4, 9.5)] == ["fits", "not enough", "unbalanced"]
    assert [memory.ends(beside[12], most, ranks, guard) for most, ranks, guard in ((94.5, 8, "warns"), (94.5, 1, "stops"), (82.5, 8, "stops"))] == [
        "not enough"] * 3


@pytest.mark.parametrize(
    ("text", "variables", "expected"),
    [
        ("0.4.3", {OLD_SWITCH: "1"}, "stops"),
        ("0.4.6", {}, "stops"),
        ("0.5.6", {OLD_SWITCH: "1"}, "warns"),
        ("0.5.6", {OLD_SWITCH: "0"}, "stops"),
        ("0.5.9", {OLD_SWITCH: "1"}, "stops"),
        ("0.5.9", {OLD_SWITCH: "0"}, "warns"),
        ("0.5.9", {NEW_SWITCH: "false"}, "warns"),
        ("0.5.9", {}, "stops"),
        ("0.5.23", {NEW_SWITCH: "0"}, "warns"),
        ("0.5.23", {OLD_SWITCH: "0"}, "stops"),
    ],
)
def test_the_switch_of_the_balance_check_by_release(text, variables, expected):
    assert memory.guard_of(release(text), variables) == expected


def test_a_switch_that_turned_round_with_the_release_is_told():
    assert "stops the server" in memory.switch_trap(release("0.5.9"), {OLD_SWITCH: "true"})
    assert memory.switch_trap(release("0.5.6"), {OLD_SWITCH: "true"}) == ""
    assert isinstance(memory.guard_of(release("0.5.20"), {OLD_SWITCH: "1"}), Unknown)


def test_the_error_of_a_start_without_room_by_release():
    assert [memory.says_when_short(release(text))[:10] for text in ("0.3.0", "0.5.12", "0.5.15", "0.5.23")] == ["Not enough"] * 2 + ["Loaded wei"] * 2

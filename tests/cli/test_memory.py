# ruff: noqa: RUF001  the signs that the answers use are the point here
from __future__ import annotations

import json
from pathlib import Path

import pytest

from driftwatch.store import document
from driftwatch.store.files import FileStore
from driftwatch.store.labels import set_label

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"
ARGS = "mem_fraction_static={fraction}, tp_size=8, pp_size=1, dp_size=1, chunked_prefill_size=8192, cuda_graph_max_bs=128, speculative_algorithm=None"
ERROR = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static={fraction}"


@pytest.fixture
def log(cli):
    """Return a maker of logs of one start on eight ranks."""

    def make(fraction=0.55, before=94.5, after=21.925, odd=94.5):
        lines = ["a line of another run", f"[2026-03-02 12:19:23] server_args=ServerArgs({ARGS.format(fraction=fraction)})"]
        lines += [f"[2026-03-02 12:19:30 TP{rank}] Load weight begin. avail mem={odd if rank == 3 else before:.2f} GB" for rank in range(8)]
        lines += [f"[2026-03-02 12:21:30 TP{rank}] Load weight end. avail mem={after - (rank == 5):.3f} GB, mem usage=72 GB." for rank in range(8)]
        path = cli.home / "server.log"
        path.write_text("\n".join([*lines, ERROR.format(fraction=fraction)]) + "\n")
        return path

    return make


def told(cli, *words, code=1):
    ran = cli.run("memory", *words, "--json")
    assert (ran.returncode, ran.stderr) == (code, "")
    (one,) = json.loads(ran.stdout)
    return one


def test_the_vanishing_baseline_comes_out_as_a_worked_line(cli):
    ran = cli.run("memory", SNAPSHOTS / "bad.json")
    flat = " ".join(ran.stdout.split())
    assert ran.returncode == 1
    assert "21.93 − 94.50 × (1 − 0.55) = −20.60 GiB for the KV cache" in flat
    assert "No fraction under about 0.77 can work with this model on these GPUs" in flat
    assert "(0.5: −25.32)" in flat


def test_the_drawing_has_its_figures_and_its_rows_by_rising_fraction(cli):
    lines = cli.run("memory", SNAPSHOTS / "bad.json", "--mem-fraction-static", "0.85").stdout.splitlines()
    assert lines[0].startswith("free before load   94.50 GiB   least of 8 ranks, ")
    assert [line.split()[:2] for line in lines[6:9]] == [["0.55", "−20.60"], ["0.768", "0.00"], ["0.85", "+7.76"]]


def test_the_exit_code_is_about_what_was_asked_for(cli):
    assert cli.run("memory", SNAPSHOTS / "bad.json", "--mem-fraction-static", ".85").returncode == 0
    assert cli.run("memory", SNAPSHOTS / "good.json", "--mem-fraction-static", "0.7").returncode == 1
    assert cli.run("memory", SNAPSHOTS / "good.json").returncode == 0


def test_the_good_snapshot_of_the_host_has_a_row_with_its_tokens(cli):
    store = FileStore(cli.store)
    for name in ("good", "bad"):
        entry = store.save(document.parse((SNAPSHOTS / f"{name}.json").read_bytes(), name))
        set_label(store, entry, name, set_at="2026-03-04T00:00:00Z")
    (row,) = (row for row in told(cli, "bw-a@bad")["rows"] if row["remark"] == "bw-a@good")
    assert (row["fraction"], row["kv_cache_gib"], row["tokens"] > 100_000) == (0.85, 7.755, True)


def test_a_graph_batch_moves_the_default_and_not_a_given_fraction(cli):
    one = told(cli, SNAPSHOTS / "bad.json", "--cuda-graph-max-bs", "512")
    assert [row["fraction"] for row in one["rows"] if "--cuda-graph-max-bs 512" in row["remark"]] == [0.848]
    assert any("by −0.008, but the fraction is given" in line for line in one["says"])


def test_a_log_tells_the_rank_and_the_line_of_the_least(cli, log, snapshot_file):
    one = told(cli, snapshot_file("a.json"), "--log", log())
    assert one["figures"]["free_after_load"] == {"value": 20.925, "unit": "GiB", "from": "least of 8 ranks, TP5, log line 16"}
    assert "−21.60 GiB" in one["says"][0]


def test_of_a_long_log_the_figures_are_read_and_no_line_is_counted(cli, log, snapshot_file):
    path = log()
    path.write_text("".join(f"[2026-03-02 11:00:00] a line before, number {number}\n" for number in range(120_000)) + path.read_text())
    figure = told(cli, snapshot_file("a.json"), "--log", path)["figures"]["free_after_load"]
    assert (figure["value"], "log line" in figure["from"]) == (20.925, False)


def test_a_log_alone_will_do_where_a_snapshot_is_read(cli, log):
    assert told(cli, log())["figures"]["fraction"]["value"] == 0.55


def test_the_log_takes_the_place_of_what_the_snapshot_held(cli, log):
    one = told(cli, SNAPSHOTS / "good.json", "--log", log())
    assert (one["figures"]["fraction"]["value"], one["release"]) == (0.55, "0.5.9")


def test_an_uneven_start_is_stopped_by_the_balance_check(cli, log, snapshot_file):
    path = snapshot_file("a.json", **{"packages/sglang/version": "0.5.9"})
    one = told(cli, path, "--log", log(fraction=0.95, odd=80))
    assert "The memory capacity is unbalanced" in one["says"][0]


def test_memory_that_was_gone_before_load_is_told_with_its_cost(cli, log, snapshot_file):
    facts = {"gpus/GPU-1/memory_total_mib": 97887, "servers/sglang/log/init_gib": 1.4, "packages/sglang/version": "0.5.9"}
    facts |= {f"servers/sglang/log/{name}": value for name, value in (("free_before_load_gib", 82.1), ("free_after_load_gib", 9.53), ("ranks", 8))}
    one = told(cli, snapshot_file("a.json", **facts, **{"servers/sglang/args/mem_fraction_static": 0.85}))
    assert any("12.09 GiB more were gone before load" in line for line in one["says"])


def test_without_the_figures_there_is_no_sum_and_the_exit_code_says_so(cli, snapshot_file):
    ran = cli.run("memory", snapshot_file("a.json"))
    assert ran.returncode == 3
    assert "? not recorded" in ran.stdout
    assert "--log FILE" in ran.stdout


def test_a_default_that_cannot_be_worked_out_names_what_is_missing(cli, log):
    assert "SGLang's version is not told" in told(cli, log())["figures"]["fraction"]["from"]


def test_a_log_of_another_framework_is_refused(cli, snapshot_file):
    (cli.home / "vllm.log").write_text("INFO 03-02 12:00:00 api_server.py:1] vLLM API server version 0.9.0\n")
    ran = cli.run("memory", snapshot_file("a.json"), "--log", "vllm.log")
    assert (ran.returncode, "a log of vllm" in ran.stderr) == (2, True)


@pytest.mark.parametrize("words", [*(("--mem-fraction-static", word) for word in ("1.2", "0", "nan")), ("--cuda-graph-max-bs", "-1")])
def test_a_number_that_is_none_is_refused_by_name(cli, words):
    ran = cli.run("memory", SNAPSHOTS / "bad.json", *words)
    assert (ran.returncode, words[0] in ran.stderr) == (2, True)


def test_no_line_is_wider_than_the_page(cli):
    text = cli.run("memory", SNAPSHOTS / "bad.json", "--cuda-graph-max-bs", "512", "--width", "60").stdout
    assert max(map(len, text.splitlines())) <= 60

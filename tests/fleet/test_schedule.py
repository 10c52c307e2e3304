"""The nightly audit as units and as a crontab line, as systemd and the shell read them."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest

from driftwatch.fleet.errors import FleetError
from driftwatch.fleet.schedule import SERVICE, TIMER, Timing, cron_line, parse_timing, service_unit, timer_unit, with_line

ARGV = ["/bin/true", "-m", "audit", "--store=/a b/c", "100%", '"$HOME"']


@pytest.mark.parametrize(("every", "at"), [("2d", "02:00"), ("1d", "24:00"), ("1d", "2"), ("", "02:00")])
def test_what_cannot_be_scheduled_is_refused(every, at):
    with pytest.raises(FleetError):
        parse_timing(every, at)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("every", ["1h", "1d", "1w"])
def test_systemd_takes_the_units(tmp_path, every):
    (tmp_path / SERVICE).write_text(service_unit(ARGV), encoding="utf-8")
    (tmp_path / TIMER).write_text(timer_unit(Timing(every, 2, 30)), encoding="utf-8")
    argv = ["systemd-analyze", "verify", str(tmp_path / TIMER), str(tmp_path / SERVICE)]
    told = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert (told.returncode, [line for line in told.stderr.splitlines() if "driftwatch" in line]) == (0, [])


def test_a_cron_line_has_five_fields_and_the_words_as_the_shell_reads_them():
    line = cron_line(ARGV, Timing("1d", 2, 0), "controller-1")
    fields, command = line.split()[:5], line.split(None, 5)[5].replace(r"\%", "%")
    assert (len(fields), shlex.split(command, comments=True)) == (5, ARGV)


def test_a_percent_sign_is_escaped_for_cron():
    assert r"100\%" in cron_line(ARGV, Timing(), "x")


@pytest.mark.parametrize("timing", [Timing("1d", 2, 0), Timing("1d", 23, 59)])
def test_cron_minutes_are_spread_over_a_quarter_of_an_hour_by_the_machines_name(timing):
    told = {tuple(map(int, cron_line(["x"], timing, f"c{n}").split()[1::-1])) for n in range(200)}
    late = {(hour * 60 + minute - timing.hour * 60 - timing.minute) % 1440 for hour, minute in told}
    assert late == set(range(15))


def test_a_line_stands_in_a_crontab_once():
    line = cron_line(["x"], Timing(), "c")
    once = with_line("0 1 * * * other\n", line)
    assert (with_line(once, line), once.count("driftwatch audit")) == (once, 1)

"""Which run of a package tool of the operating system brought a package, who started it and when. An event log dates other changes; it never weighs alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from driftwatch.explain.case import Case
from driftwatch.explain.families import os_package_family
from driftwatch.explain.words import shorten
from driftwatch.model import Known


class Transaction(NamedTuple):
    """One run of a package tool: when (ISO 8601), by which tool and whom, and what it changed, name to [old, new]."""

    at: str
    tool: str
    by: str
    command: str
    packages: dict[str, Any]
    fact: str

    @property
    def told(self) -> str:
        """Return ``apt by ops, 2026-09-02 10:17Z``."""
        who = f" by {self.by}" if self.by else ""
        return f"{self.tool}{who}, {self.at[:16].replace('T', ' ')}{'Z' if self.at.endswith('Z') else ''}"


def transactions(case: Case) -> list[Transaction]:
    """Return the runs that the bad side tells of and that came after the good one was taken, in the order of their times."""
    found = [_run(path, value) for path, value in case.below("bad", "os_changes") if isinstance(value, dict) and isinstance(value.get("packages"), dict)]
    return sorted((one for one in found if one.packages and _is_new(case, one)), key=lambda one: one.at)


def _run(path: str, told: dict[str, Any]) -> Transaction:
    return Transaction(str(told.get("at", "")), str(told.get("tool", "")), str(told.get("by") or ""), str(told.get("command", "")), told["packages"], path)


def _is_new(case: Case, run: Transaction) -> bool:
    """Tell whether the good side's log does not hold a run; where that log is not known, whether the run is later than the good side."""
    before = case.good.get(run.fact)
    if isinstance(before, Known):
        return before.value is None
    return case.good.taken_at is not None and run.at.endswith("Z") and run.at > case.good.taken_at


def moved_packages(case: Case, *families: str) -> list[str]:
    """Return the packages of the operating system, of these families, that moved; also those that only followed another change."""
    changes = [change for change in case.changes if change.path.startswith("os_packages/") and change.path.endswith("/version") and change.kind != "unknown"]
    return [name for name in (change.path.split("/")[1] for change in changes) if os_package_family(name) in families]


def bringer(case: Case, names: Iterable[str]) -> Transaction | None:
    """Return the latest run that changed one of these packages; None where the logs do not tell."""
    wanted = {name.split(":")[0] for name in names}
    return next((one for one in reversed(transactions(case)) if wanted & {name.split(":")[0] for name in one.packages}), None)


def carrier(case: Case, names: Iterable[str]) -> str:
    """Return in words what brought these packages, empty where it is not known."""
    found = bringer(case, names)
    return shorten(f"came with {found.told}", 110) if found is not None else ""


def carried(case: Case, what: str, names: Iterable[str]) -> str:
    """Return what came along and in which run, ``came with PACKAGE 1 → 2 (apt by ops, …)``; empty where neither is known."""
    found = bringer(case, names)
    told = found.told if found is not None else ""
    return shorten(f"came with {what} ({told})" if what and told else f"came with {what or told}", 160) if what or told else ""


def is_before_boot(case: Case, found: Transaction) -> bool | None:
    """Tell whether a run ended before the bad side's kernel was started; None where either time is not known."""
    booted = case.value("bad", "kernel/booted_at")
    return found.at < booted if isinstance(booted, str) and found.at.endswith("Z") else None

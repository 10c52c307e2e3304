"""What `verify` does, in order: find what was named, verify host by host, lay the verdicts out, count. Decides nothing about soundness."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.cli.wiring.named import is_file
from driftwatch.report.table import columns
from driftwatch.store.references import counted, resolve
from driftwatch.store.signatures import Signers
from driftwatch.store.verifying import Demand, Verdict, is_finding, verify_file, verify_host

FINDING = 1


@dataclass(frozen=True)
class Line:
    """A verdict, and whether it is a finding."""

    verdict: Verdict
    is_finding: bool


def signers_of(allowed: str | None, revoked: str | None) -> Signers | None:
    """Return whose signatures count, or None where nobody said. Raises UsageFault for files that are none."""
    if allowed is None:
        if revoked is not None:
            raise UsageFault("--revoked without --signers: whose signatures count otherwise?", do="name the allowed_signers file with --signers FILE")
        return None
    for option, name in (("--signers", allowed), ("--revoked", revoked)):
        if name is not None and not is_file(name):
            raise UsageFault(f"{option} {Path(name).name} is no file", name, "a file of lines as ssh-keygen(1) has them: NAME KEYTYPE KEY")
    return Signers(Path(allowed), Path(revoked) if revoked is not None else None)


def verify_all(refs: Sequence[str], demand: Demand, desk: Desk) -> list[Line]:
    """Return the verdicts on what REFs name, a whole host where only that is named, or on all that is stored."""
    return [Line(one, is_finding(one, demand)) for one in _verdicts(refs, demand, desk)]


def _verdicts(refs: Sequence[str], demand: Demand, desk: Desk) -> Iterator[Verdict]:
    files, wanted = _sorted(refs, desk)
    for path in files:
        yield verify_file(path, demand)
    hosts = wanted if refs else dict.fromkeys(desk.store.hosts())
    for host, only in hosts.items():
        yield from verify_host(desk.store, host, demand, only)


def _sorted(refs: Sequence[str], desk: Desk) -> tuple[list[Path], dict[str, set[str] | None]]:
    """Return the files that REFs name, and by host the names of the snapshots in the store, None for all of a host."""
    files: list[Path] = []
    some: dict[str, set[str]] = defaultdict(set)
    whole: list[str] = []
    known = set(desk.store.hosts()) if any("@" not in ref for ref in refs) else set()
    for ref in refs:
        if ref in known:
            whole.append(ref)
            continue
        found = resolve(ref, desk.store)
        if found.entry is not None:
            some[found.entry.host].add(str(found.entry.name))
        elif found.kind == "file" and found.path is not None:
            if not is_file(found.path):
                raise UsageFault(f"{found.path.name[:80]} is no file that can be read", ref, "check its path")
            files.append(found.path)
        else:
            raise UsageFault(f"{ref} is no stored snapshot and no snapshot file", do="HOST@which, a HOST, or a path with a slash")
    return files, {**some, **dict.fromkeys(whole)}


def layout(lines: Sequence[Line], desk: Desk) -> str:
    """Return the verdicts as JSON, or one a line."""
    if desk.given.format == "json":
        return json.dumps([_row(one) for one in lines], indent=1) + "\n"
    return columns([[one.verdict.word, one.verdict.ref, _words(one.verdict)] for one in lines], desk.page)


def _row(line: Line) -> dict[str, Any]:
    one = line.verdict
    return {"ref": one.ref, "verdict": one.word, "why": one.why, "signer": one.signer, "fork": one.fork, "finding": line.is_finding}


def _words(verdict: Verdict) -> str:
    fork = f"fork: {verdict.fork} follow the same one: written at once, or one came late" if verdict.fork else ""
    return "; ".join(one for one in (f"by {verdict.signer}" if verdict.signer else "", verdict.why, fork) if one)


def close(lines: Sequence[Line], desk: Desk) -> int:
    """Tell the counts, and return the exit code: 1 with a finding, else 0."""
    code = FINDING if any(one.is_finding for one in lines) else 0
    counts = Counter(one.verdict.word for one in lines)
    forks = sum(bool(one.verdict.fork) for one in lines)
    parts = [counted(len(lines), "snapshot"), *(f"{count:,} {word}" for word, count in sorted(counts.items())), f"{forks} in forks" if forks else ""]
    if not desk.given.quiet:
        desk.say(" · ".join([one for one in parts if one] + [f"exit {code}"]))
    return code

"""Writes docs/probes.md, the reference of all probes, from the probes themselves and the docstrings of their collectors."""

from __future__ import annotations

import importlib
from pathlib import Path

from driftwatch.agent import collectors
from driftwatch.capture.plan import Offer, offers
from driftwatch.capture.profiles import ACTIVE, OWN_DEADLINE, built_in

PAGE = Path(__file__).parent.parent / "docs/probes.md"
HEAD = """# Probes
Every question that driftwatch asks a host, made from the probes by `scripts/make_probes_page.py`; `driftwatch probes` prints the same list.
Each runs in a process of its own and is given up at its deadline; what it told until then is kept. A probe in a group is asked only with
`--with GROUP`, or by a profile. None needs root; where root would see more, the page says so. (v): volatile, kept but never weighed.

"""


def page() -> str:
    """Return the page: a table of all probes, the profiles, then a section for each probe."""
    found = sorted(offers(), key=lambda offer: offer.probe.name)
    rows = ["| probe | deadline | group | reads |", "|---|---|---|---|", *(_row(offer) for offer in found)]
    return HEAD + "\n".join(rows) + "\n\n" + _profiles() + "\n" + "\n".join(_section(offer) for offer in found)


def _row(offer: Offer) -> str:
    probe = offer.probe
    return f"| [{probe.name}](#{probe.name}) | {probe.deadline_s:g} s | {probe.group} | {_cell(probe.reads)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _profiles() -> str:
    lines = [
        "## Profiles",
        "`--profile NAME` chooses what is asked; without it, `sglang`. A profile only adds to what every snapshot holds, so compare snapshots of one profile.",
        f"`full` turns on every group that only looks: not {' and '.join(f'`{one}`' for one in ACTIVE)}, which act on the host.",
        "",
        "| profile | own versions of | variables told besides | groups | seconds for a host |", "|---|---|---|---|---|",
    ]
    for name, one in built_in().items():
        prefixes = ", ".join(f"{prefix}…" for prefix in one.env_prefixes)
        lines.append(f"| {name} | {', '.join(one.packages)} | {prefixes} | {', '.join(one.groups)} | {one.deadlines_s.get(OWN_DEADLINE, 60):g} |")
    return "\n".join([*lines, "", *SITE])


SITE = [
    "A site's own stands in the config file and adds to the built-in one that `like` names, else `sglang`; `[profiles.sglang]` adds to the usual one:",
    "```toml",
    "[profiles.prod]                              # driftwatch snapshot gpu-a --profile prod",
    'like = "vllm"',
    'packages = ["our_kernels"]                   # modules whose own version is read',
    'env_prefixes = ["OURS_"]                     # variables that may be told besides; secrets among them stay keyed',
    'with = ["record"]                            # groups, as --with',
    'skip = ["git"]                               # probes to leave out; --only goes before it, and the snapshot is not partial',
    "deadline = { host = 90, nvml = 30 }          # seconds",
    'transport = "openssh"',
    'python = "/opt/venv/bin/python"              # where no server runs to tell it',
    'source = "/opt/sglang"',
    "```",
    "",
]


def _section(offer: Offer) -> str:
    probe = offer.probe
    told = importlib.import_module(f"{collectors.__name__}.{offer.module}").__doc__ or ""
    lines = [f"## {probe.name}", f"Reads {probe.reads}.", ""]
    group = f", only with `--with {probe.group}`" if probe.group else ""
    lines.append(f"- deadline {probe.deadline_s:g} s{group}; `agent/collectors/{offer.module}.py`")
    if probe.root_shows:
        lines.append(f"- as root also: {probe.root_shows}")
    lines.append("- facts: " + ", ".join(f"`{glob}`" for glob in probe.tells))
    if probe.volatile:
        lines.append("- of these volatile: " + ", ".join(f"`{glob}`" for glob in probe.volatile))
    return "\n".join([*lines, "", told.strip(), ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.relative_to(PAGE.parent.parent)}: {len(offers())} probes")

"""All weights of all rules, in log-odds, in one place. Judged from settled public incidents, tried by benchmarks/fit_weights.py; no rule holds a number.

A suspect's confidence is ``logistic(prior(kind, class) + sum of its terms)``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

STRONG, LIKELY, NOTABLE, SHOWN = 0.8, 0.5, 0.2, 0.05  # confidence: strong, likely, worth a sentence, worth a line
CLOSE = 0.25  # two suspects nearer than this are told as close
MOST_SUSPECTS = 7
COULD_HIDE = -2.3  # a kind with at least this prior is worth worrying about when its facts are not known

_UNLIKELY = -3.0
BASE: Mapping[str, float] = MappingProxyType({
    "package": -2.6, "file": -2.2, "git": -2.2, "python": -2.4, "env-var": -2.4, "launch-arg": -2.0, "library": -2.4, "driver": -2.4, "kernel": -2.8,
    "kernel-module": -2.4, "gpu-memory": -2.4, "gpu-process": -2.4,
    # what lies below the Python packages: seldom the cause, so each needs evidence of its own before it passes a moved package
    "service": -2.6, "container": -2.7, "gpu": -2.7, "pcie-link": -2.8, "power-clock": -2.8, "ecc": -2.6, "mig": -2.5, "topology": -2.9, "nccl": -2.6,
    "network": -2.8, "limit": -2.6, "host-memory": -2.7, "cache": -2.6, "disk": -2.8, "mount": -2.7, "firmware": -3.0,
})

# The symptom's class routes the prior: one and the same difference has another cause under another symptom.
ROUTE: Mapping[str, Mapping[str, float]] = MappingProxyType({
    "oom": {
        "launch-arg": 1.0, "gpu-memory": 1.2, "gpu-process": 1.2, "env-var": 0.2, "package": -0.4, "file": -0.2,
        "driver": -1.0, "kernel": -1.0, "library": -0.5,
        "host-memory": 1.0, "limit": 0.2, "mig": 0.4, "gpu": 0.2, "service": -0.6, "container": 0.0, "ecc": -0.4, "mount": -0.8, "disk": -0.8, "nccl": 0.2,
        "network": -1.5, "pcie-link": -1.5, "power-clock": -1.5, "topology": -1.0, "firmware": -0.5, "cache": -1.0,
    },
    "startup-crash": {
        "package": 0.8, "launch-arg": 0.8, "driver": 0.4, "env-var": 0.6, "file": 0.5, "git": 0.5, "python": 0.8, "library": 0.6,
        "kernel-module": 0.6, "kernel": 0.3, "gpu-process": 0.3, "gpu-memory": 0.3,
        "service": 0.8, "container": 0.8, "limit": 0.8, "mig": 0.8, "mount": 0.5, "disk": 0.5, "gpu": 0.5, "ecc": 0.2, "nccl": 0.6, "network": 0.2,
        "host-memory": 0.3, "topology": 0.1, "pcie-link": -1.0, "power-clock": -1.5, "cache": 0.5,
    },
    "import-error": {
        "package": 1.2, "python": 1.0, "file": 0.8, "git": 0.3, "library": 0.8,
        "launch-arg": -1.5, "driver": -1.0, "gpu-process": -2.0, "gpu-memory": -2.0,
        "limit": -1.0, "service": -1.5, "container": -0.5, "gpu": -1.5, "ecc": -2.0, "mig": -1.5, "power-clock": -2.5, "pcie-link": -2.5, "network": -2.0,
        "mount": -0.5, "disk": -0.3, "host-memory": -1.5, "topology": -2.5, "nccl": 0.0, "firmware": -2.0, "kernel-module": -1.5, "kernel": -1.5,
    },
    "runtime-crash": {
        "package": 0.6, "file": 0.8, "library": 0.8, "env-var": 0.3, "git": 0.5, "launch-arg": 0.3, "driver": 0.2,
        "ecc": 1.2, "gpu": 1.0, "kernel": 0.2, "kernel-module": 0.2, "nccl": 0.4, "limit": 0.4, "disk": 0.3, "mount": 0.2, "network": 0.3, "host-memory": 0.4,
        "power-clock": 0.2, "service": 0.2, "container": 0.3, "mig": -0.3, "cache": 0.8,
    },
    "hang": {
        "env-var": 0.8, "driver": 0.6, "package": -0.2, "launch-arg": 0.4, "kernel": 0.3, "gpu-process": 0.2,
        "ecc": 1.2, "gpu": 1.0, "mount": 1.2, "network": 0.8, "nccl": 0.8, "topology": 0.8, "kernel-module": 0.4, "pcie-link": 0.2, "disk": 0.3,
        "service": 0.3, "host-memory": 0.3, "limit": -0.2, "cache": 0.4,
    },
    "slow": {
        "package": 0.5, "env-var": 0.8, "launch-arg": 0.8, "driver": 0.4, "gpu-process": 0.5, "git": 0.5, "file": 0.4,
        "power-clock": 1.4, "pcie-link": 1.2, "network": 1.0, "topology": 0.8, "nccl": 0.6, "mount": 0.5, "host-memory": 0.4, "limit": 0.6, "ecc": 0.3,
        "gpu": 0.2, "firmware": 0.4, "service": 0.4, "kernel": 0.4, "kernel-module": 0.3, "python": 0.2, "library": 0.5, "cache": 0.4,
    },
    "wrong-output": {
        "launch-arg": 0.8, "kernel": -0.8, "driver": 0.3, "env-var": 0.6, "package": 0.5, "file": 0.8, "git": 0.6, "gpu-process": -1.0, "gpu-memory": -1.0,
        "ecc": 1.0, "library": 0.5, "gpu": 0.4, "topology": 0.6, "power-clock": -2.0, "pcie-link": -1.5, "network": -1.5, "limit": -2.0, "host-memory": -1.5,
        "disk": -0.5, "mount": -0.5, "cache": 1.2,
    },
    "accuracy": {
        "launch-arg": 0.8, "kernel": -0.8, "driver": 0.3, "env-var": 0.6, "package": 0.5, "file": 0.8, "git": 0.6, "gpu-process": -1.0, "gpu-memory": -1.0,
        "ecc": 1.0, "library": 0.5, "gpu": 0.4, "topology": 0.6, "power-clock": -2.0, "pcie-link": -1.5, "network": -1.5, "limit": -2.0, "host-memory": -1.5,
        "disk": -0.5, "mount": -0.5, "cache": 1.2,
    },
    "device-lost": {
        "driver": 1.4, "kernel-module": 1.4, "kernel": 1.0, "library": 0.8, "package": -1.0, "git": -1.5, "file": -1.0, "launch-arg": -1.0,
        "service": 1.0, "container": 1.2, "gpu": 1.2, "mig": 1.0, "ecc": 0.8, "pcie-link": 0.6, "firmware": 0.4, "power-clock": 0.2, "topology": 0.0,
        "mount": -1.5, "disk": -1.5, "limit": -1.0, "network": -1.0, "host-memory": -1.0, "cache": -2.0,
    },
})

# What the fit makes of each group (benchmarks/fit_weights.py): every weight of a group is multiplied by its figure, "bias" is added to every prior.
SCALES: Mapping[str, float] = MappingProxyType({})

GROUPS: Mapping[str, Mapping[str, float]] = MappingProxyType({
    "difference": {
        "moved": 0.3, "presence": 0.2, "option came or went": 0.6, "switched": 0.3, "goes with its switch": -0.4,
        "as many devices": -1.4, "asks itself": 0.2,
    },
    "whose environment": {"server's own": 0.5, "the shell's, not the server's": -0.5, "two environments": -2.2, "workaround": -0.5, "overruled": -0.8},
    "time": {"in the window": 0.2, "out of order": -1.5},
    "baseline": {"doubtful baseline": -2.0, "before unknown": -1.2, "open": 0.0},
    # what the error says: the one that raises is often the victim of what it needs
    "error text": {
        "named in the error": 1.8, "value named": 1.2, "both values named": 2.2, "path named": 2.2, "words of its work": 1.4, "file in the traceback": 1.4,
        "lacks its symbol": 1.4, "lacks what is asked of it": 1.6, "asks what is not there": 1.3, "refusal of settings": 0.8,
        "version quoted": 0.8, "raises": 1.2, "in the traceback": 0.4, "raiser needs it": 1.3, "raiser needs it, far": 0.2, "words of its layer": 0.8,
        "words of its library": 1.2, "quoted, not moved": 2.2, "server named": 0.6, "text names it": 1.4, "text fits": 1.4,
    },
    "error text against": {"another is named": -0.8, "raised elsewhere": -0.4, "other level": -0.6, "the system refused": -1.0, "found on the host": -1.8},
    # the start-up sum of memory, and GPU memory held by others
    "memory sum": {
        "sum decides": 3.2, "sum decides without the good side": 2.4, "sum shares": 1.4, "sum excludes": -3.0, "memory equal": 0.7, "took no memory": -3.5,
    },
    "memory held": {
        "held by others": 2.2, "unlisted memory": 1.8, "on every device": 0.4, "of a server that does not run": 0.8, "error names occupants": 1.6,
        "a server runs": -0.8,
    },
    "relations of a host": {
        "pair broke": 4.6, "pair broke, before unknown": 2.8, "kernel package": 0.8, "pair of a plain package": -1.6, "pair breaks an import": -1.6,
        "text and driver agree": 1.0, "another kernel runs": 0.8, "driver silent": 2.2, "silent elsewhere": 0.6,
    },
    "files and trees": {
        "file altered": 1.4, "file missing": 1.2, "source edited": 1.6, "edited for the symptom": 0.8, "blanks only": -2.5, "never imported": -2.0,
        "carried by a version": -1.0, "head moved": 1.6, "edits gone": 2.4, "edits came": 1.0, "untracked only": -1.5,
    },
    "platform": {"driver moved": 1.4, "kernel moved": 2.0, "same kernel series": -0.6, "python moved": 1.8, "flavour moved": 0.6, "no GPU answers": 1.8,
        "not for these cards": 2.4},
    "place of a package": {
        "toolchain moved": 1.0,
        "new build of one version": 0.8, "installed from elsewhere": 1.8, "came new": -0.5, "went away": -0.2, "companion": -1.2, "companion, compiles": -0.3,
        "carrier": -0.6, "carried": 0.2, "attention": 0.4, "compiles most kernels": 0.2, "base moved": 1.0, "left behind": 0.4, "interface moved": 1.2,
        "unreleased": 1.0, "went back": 0.3, "server went back": 1.2, "gone and missed": 1.2, "brings another part": 2.4,
    },
    "relations of packages": {
        "requirement broke": 2.6, "requirement broke, before unknown": 1.2, "family broke": 3.6, "family broke, before unknown": 2.4,
        "built for another": 3.6, "built for another, before unknown": 2.2, "other side of a broken pair": 1.2, "other side of a plain pair": 0.3,
        "no code for the card": 4.2, "no code for the card, before unknown": 2.4, "no code for the card, as before": 0.3, "names unresolved": 3.4,
        "two owners": 2.4,
    },
    "caches and plain files": {
        "cache older than its maker": 2.4, "cache older than the good side's": 2.2, "cache grew": 0.3, "cache moved": 0.4, "file moved": 1.6, "file cut": 1.4,
        "model moved": 1.6, "model file moved": 1.6,
        "file outside packages": 0.4, "file cut off": 3.2, "lock left": 1.8, "names a cache": 0.8, "builder was killed": 1.8,
    },
    "rivals": {"nothing else differs": 1.4, "few others differ": 0.5, "stands out": 0.8},
    "peers": {"odd among its peers": 0.8},  # at most: an innocent difference is as rare among peers as a guilty one
    # what one host says of itself: a refusal that the kernel wrote down is near a proof, a package that merely moved is a candidate
    "services and containers": {
        "service failed": 1.8, "service stopped": 1.2, "follows the driver": -3.0, "container stack moved": 2.2, "container stack set anew": 1.8,
        "image moved": 2.0, "may be the image's": -1.4, "image lacks it": 1.8,
        "container set anew": 1.6, "server in a container": 0.6, "devices taken from a container": 2.6,
        "runtime without GPUs": 3.2, "restarted under the server": 1.4, "its containers stopped": 1.8,
        "unit hides devices": 2.6, "unit setting moved": 1.2, "package shadowed": 2.6, "multi-process service came": 1.0, "patch release": -1.0,
    },
    "kernel modules": {
        "module refused": 3.4, "module's partner moved": 1.6, "module gone": 1.8, "module set anew": 1.0, "module for this kernel": 1.2,
        "driven by another": 4.2, "firmware missing": 3.6, "module of CUDA": 1.2, "module of displays": -1.2,
        "upgraded, not restarted": 0.6,
    },
    # counters that only grow survive a reinstall; a few corrected errors are usual, so they take back what growth gives
    "devices": {
        "errors grew": 2.4, "few corrected errors": -3.2, "fault logged": 2.6, "fault of programs": -1.4, "repair pending": 0.8, "one device of many": 0.6,
        "device is gone": 3.6, "off the server's path": -1.5, "mig without instances": 3.6, "mode pending": 1.2, "mig moved": 1.0, "narrower link": 2.6,
        "slower link": 1.8, "links cut": 2.6, "peers differ": 0.8, "compute mode restricts": 2.2, "card in use already": 0.8, "card's mode moved": 1.4,
        "license lost": 3.2, "no room for a card": 2.6, "follows the firmware": -3.0,
    },
    # only what was read at like load; a reason that the driver does not tell takes little, such states set no flag
    "power and clocks": {
        "slow clock at load": 3.0, "less power at load": 0.6, "no reason told": -0.2, "throttled": 2.2, "power limit fell": 1.8, "power limit moved": 0.2,
        "governor moved": 1.2,
    },
    # the resource that an errno names, unless there is far more of it than any server takes
    "resources": {
        "errno names it": 2.6, "limit fell": 2.0, "limit is tight": 1.2, "limit is roomy": -2.6, "limit stands": -1.2, "trigger moved": 1.8,
        "cache fills shared memory": 3.6,
        "memory pressure": 0.4, "memory setting moved": 1.6, "killed for memory": 2.8, "little memory left": 1.6, "cold cache": 1.8,
        "served over a network": 1.2, "text of a slow load": 1.0, "mount does not answer": 3.2, "mount moved": 1.4, "kernel log names it": 1.2,
        "tasks stuck": 1.2, "mount gone": 2.0, "disk full": 2.8, "disk failing": 2.4, "mount became read-only": 2.0, "killed at its group's limit": 3.0,
        "kernel setting moved": 1.8, "kernel setting moved, far": 0.9, "counter of the setting grew": 0.8, "mount forbids": 1.6, "reads ahead less": 2.2,
    },
    # relations broken inside one process weigh most, what moved by itself least
    "native libraries": {
        "library from two folders": 3.2, "library newly first": 1.2, "compat library": 1.6, "system library moved": 0.4, "job system moved": 0.6,
        "system package": -0.8, "package gone": 1.4, "library of two releases": 1.6,
    },
    "ranks and paths": {
        "ranks no longer alike": 1.4, "ranks alike again": 0.2, "isolation moved": 2.3, "kernel options moved": 1.0, "kernel options matter": 1.7,
        "wire moved": 1.8, "wire slower": 2.2, "wire down": 2.4, "firmware moved": 1.8, "name leads home": 1.4,
    },
})
GROUP_OF: Mapping[str, str] = MappingProxyType({name: group for group, weights in GROUPS.items() for name in weights})
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {name: weight * SCALES.get(group, 1.0) for group, weights in GROUPS.items() for name, weight in weights.items()},
)

# What a moved package of a family weighs; "*" where the class has no figure of its own.
LAYER: Mapping[str, Mapping[str, float]] = MappingProxyType({
    "kernel": {"*": 1.2, "import-error": 1.5, "slow": 1.5, "wrong-output": 1.6, "accuracy": 1.5, "oom": 0.4, "hang": 0.6, "device-lost": 0.0},
    "binding": {"*": 1.0, "startup-crash": 1.2, "import-error": 1.4, "slow": 0.3, "wrong-output": 0.5, "accuracy": 0.4, "oom": 0.1, "hang": 0.3},
    "torch": {"*": 1.3, "import-error": 1.5, "slow": 1.5, "oom": 1.0, "hang": 0.9, "device-lost": 0.0},
    "beside_torch": {"*": 0.6, "import-error": 1.5, "startup-crash": 1.1, "slow": 0.2, "hang": 0.0, "oom": 0.0, "device-lost": 0.0},
    "saver": {"*": 0.6, "oom": 1.2, "import-error": 1.3, "startup-crash": 1.0, "slow": 0.3, "wrong-output": 0.4, "accuracy": 0.3, "device-lost": 0.0},
    "collectives": {"*": 0.8, "runtime-crash": 0.9, "hang": 1.9, "slow": 1.1, "oom": 0.8, "import-error": 0.3, "wrong-output": 0.0},
    "cuda": {"*": 0.5, "import-error": 0.9, "slow": 0.7},
    "linker": {"*": 0.1, "import-error": 0.9, "startup-crash": 0.5, "runtime-crash": 0.5, "oom": -0.6},
    "server": {"*": 1.2, "oom": 1.3, "slow": 1.3},
    "trainer": {"*": 1.1, "oom": 1.3, "device-lost": 0.0},
    "cache": {"*": 0.8, "slow": 1.2, "wrong-output": 1.0, "accuracy": 1.0, "hang": 1.0, "device-lost": -0.5},
    "executor": {"*": 0.0, "hang": 1.2, "startup-crash": 0.4, "import-error": 0.2, "slow": 0.2, "oom": -0.6},
    "model": {"*": 0.6, "oom": 0.0, "hang": -0.3, "import-error": 0.9, "wrong-output": 0.9, "accuracy": 0.9, "device-lost": -1.0},
    "modeling": {"*": 0.6, "oom": 0.8, "hang": -0.3, "import-error": 0.9, "wrong-output": 0.9, "accuracy": 0.9, "device-lost": -1.0},
    "loading": {"*": 0.2, "startup-crash": 0.4, "import-error": 0.7, "hang": 0.4, "slow": -0.2, "wrong-output": -0.5, "accuracy": -0.5, "oom": -0.6},
    "numeric": {"*": 0.2, "import-error": 1.1},
    "request": {"*": -0.8, "runtime-crash": 0.8, "startup-crash": 0.2, "import-error": 0.3, "slow": -0.6, "oom": -1.8},
    "web": {"*": -1.5, "startup-crash": -0.5, "runtime-crash": -0.2, "import-error": -0.3, "oom": -2.0},
    "client": {"*": -2.0, "startup-crash": -0.9, "runtime-crash": -0.9, "import-error": -0.5},
    "tool": {"*": -2.5},
    "other": {"*": -0.8, "import-error": 0.0, "startup-crash": -0.2, "runtime-crash": -0.3, "oom": -1.3, "device-lost": -1.5},
})

# What a moved launch argument of a group weighs.
ARGUMENT: Mapping[str, Mapping[str, float]] = MappingProxyType({
    "memory": {"*": 0.4, "oom": 0.9, "startup-crash": 0.6, "wrong-output": -0.4, "accuracy": -0.4},
    "graphs": {"*": 0.4, "oom": 0.9, "slow": 1.3, "startup-crash": 0.6, "runtime-crash": 0.5, "hang": 0.5},
    "speed": {"*": 0.3, "slow": 1.3, "hang": 0.6, "oom": 0.2, "wrong-output": 0.9, "accuracy": 0.9},
    "precision": {"*": 0.5, "wrong-output": 1.5, "accuracy": 1.5, "oom": 0.9, "slow": 0.8, "startup-crash": 0.9, "hang": 0.0},
    "model": {"*": 0.9, "wrong-output": 1.3, "accuracy": 1.3, "oom": 0.9, "startup-crash": 1.0},
    "collective": {"*": 0.3, "hang": 1.4, "slow": 1.0, "oom": 0.2},
    "harmless": {"*": -2.8},
    "other": {"*": 0.0},
})

# What a moved variable of a family weighs.
VARIABLE: Mapping[str, Mapping[str, float]] = MappingProxyType({
    "transport": {"*": 0.5, "hang": 1.6, "slow": 1.4, "wrong-output": 0.6, "import-error": -1.0},
    "loader": {"*": 1.0, "import-error": 1.8, "startup-crash": 1.4, "hang": 0.8, "slow": 0.8, "wrong-output": 1.0, "oom": -0.5},
    "devices": {"*": 0.9, "startup-crash": 1.6, "oom": 1.2, "hang": 0.9, "device-lost": 1.0},
    "allocator": {"*": 0.6, "oom": 1.9, "startup-crash": 1.1, "runtime-crash": 0.8, "slow": 1.0},
    "threads": {"*": 0.2, "slow": 1.6},
    "hub": {"*": -0.8, "startup-crash": 0.6, "hang": 0.3, "slow": 0.2},
    "proxy": {"*": 0.2, "startup-crash": 0.6, "hang": 0.6, "import-error": -1.5, "oom": -2.0, "wrong-output": -2.0, "accuracy": -2.0, "device-lost": -2.0},
    "caches": {"*": 0.3, "wrong-output": 1.0, "slow": 0.6, "startup-crash": 0.6},
    "framework": {"*": 0.9, "slow": 1.2, "wrong-output": 1.2, "accuracy": 1.2},
    "harmless": {"*": -2.2},
    "other": {"*": -0.3},
})
_TABLES = MappingProxyType({"layer": LAYER, "argument": ARGUMENT, "variable": VARIABLE})


def prior(kind: str, klass: str | None) -> float:
    """Return the log-odds, before any evidence, that a cause of this kind makes a symptom of this class."""
    return BASE.get(kind, _UNLIKELY) + SCALES.get("bias", 0.0) + ROUTE.get(klass or "", {}).get(kind, 0.0) * SCALES.get("route", 1.0)


def by_class(table: str, family: str, klass: str | None) -> float:
    """Return what a table, layer, argument or variable, gives for a family under a symptom class."""
    row = _TABLES[table][family]
    return row.get(klass or "*", row["*"]) * SCALES.get(table, 1.0)


def logistic(log_odds: float) -> float:
    """Return a probability with three decimals."""
    return round(1 / (1 + math.exp(-max(-40.0, min(40.0, log_odds)))), 3)

"""When two values of one fact say the same thing. Knows versions told by two sources, and secrets kept under two keys. Never guesses."""

from __future__ import annotations

import re
from typing import Any

from packaging.version import Version

from driftwatch.model import Answer, Known, Snapshot, Unknown
from driftwatch.other_names import NOT_UNDER_THIS_NAME

FIRST_HAND = frozenset({"snapshot", "recorded-host"})
_VERSION_PATH = re.compile(r"(?:pythons/[^/]+/)?packages/[^/]+/version|torch/version")
_COMMIT_PATH = re.compile(r"git/[^/]+/head|packages/[^/]+/commit")
_NAME_PATH = re.compile(r"gpus/[^/]+/name|system/cpu/model|pci/[^/]+/name")
_ABBREVIATED = re.compile(r"[0-9a-f]{7,64}")
_DOTS = re.compile(r"\s*\.{2,3}\Z")
_DIGEST = re.compile(r"\[secret hmac-sha256:[0-9a-f]+\]")
MASKED = Unknown("not_recorded", "a secret of which no digest is told: two of them cannot be compared")
OTHER_KEY = Unknown("not_recorded", "a secret, kept under another store key on the other side: the two cannot be compared")


def are_two_sources(good: Snapshot, bad: Snapshot) -> bool:
    """Tell whether the sides were told by two kinds of source, such as a snapshot and a pasted dump."""
    return good.source != bad.source and not {good.source, bad.source} <= FIRST_HAND


def is_equal(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are the same at every depth. To Python, true is 1."""
    if one != other:
        return False
    if isinstance(one, dict):
        return all(is_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return all(map(is_equal, one, other))
    return (one.__class__ is bool) == (other.__class__ is bool)


def is_same_version(one: Any, other: Any) -> bool:
    """Tell whether two version texts name one release; a local label counts only where both have one."""
    if not isinstance(one, str) or not isinstance(other, str):
        return False
    try:
        first, second = Version(one), Version(other)
    except ValueError:  # InvalidVersion is one, and so is what Python says of thousands of digits
        return one == other
    return Version(first.public) == Version(second.public) and (first.local == second.local or None in (first.local, second.local))


def is_same_thing(path: str, good: Any, bad: Any) -> bool:
    """Tell whether two unequal values from two sources still say the same: ``2.6.0`` where the other tool prints ``2.6.0+cu124``."""
    return _VERSION_PATH.fullmatch(path) is not None and is_same_version(good, bad)


def is_shortened(path: str, good: Any, bad: Any) -> bool:
    """Tell whether one of two texts is the other, cut by the tool that printed it: a commit of seven and more digits, a GPU's name that ends in dots."""
    if not isinstance(good, str) or not isinstance(bad, str):
        return False
    short, long = sorted((good, bad), key=len)
    if _COMMIT_PATH.fullmatch(path):
        return _ABBREVIATED.fullmatch(short) is not None and long.startswith(short)
    return _NAME_PATH.fullmatch(path) is not None and _DOTS.search(short) is not None and long.startswith(_DOTS.sub("", short))


def is_asked_in_vain(good: Answer, bad: Answer) -> bool:
    """Tell whether a tool found nothing of a name that the other side does not have either: whatever it goes by is compared under that name."""
    return any(isinstance(one, Unknown) and one.reason == NOT_UNDER_THIS_NAME and other == Known(None) for one, other in ((good, bad), (bad, good)))


def have_one_key(good: Snapshot, bad: Snapshot) -> bool:
    """Tell whether the keyed secrets of both sides were made with the same key."""
    return bool(good.redaction.get("key_id") == bad.redaction.get("key_id"))


def differ_in_secrets_only(good: Any, bad: Any) -> bool:
    """Tell whether two unequal values are equal once every keyed secret in them is taken for the same."""
    return bool(good != bad) and without_secrets(good) == without_secrets(bad)


def is_masked(value: Any) -> bool:
    """Tell whether a value is a secret of which not even a keyed digest is told: it equals nothing, not even itself."""
    return isinstance(value, dict) and "masked" in value


def without_secrets(value: Any) -> Any:
    """Return a JSON value with each keyed secret, and each digest of one inside a text, replaced by one mark."""
    if isinstance(value, dict):
        return "(secret)" if "keyed" in value else {key: without_secrets(one) for key, one in value.items()}
    if isinstance(value, str):
        return _DIGEST.sub("[secret]", value)
    if isinstance(value, list):
        return [without_secrets(one) for one in value]
    return value

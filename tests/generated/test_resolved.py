"""What two dates make of one requirement set (benchmarks/resolved_pairs.py --write made the dumps): real collateral around one package that failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.model import Symptom
from tests.explain.cases import told

DUMPS = Path(__file__).parent / "resolved"
NAMES = sorted(path.name.removesuffix(".good.txt") for path in DUMPS.glob("*.good.txt"))
IMPORTED = {
    "fastapi": "fastapi", "xgrammar": "xgrammar", "transformers": "transformers", "numpy": "numpy", "pydantic": "pydantic", "mistral-common": "mistral_common",
}


def side(name, which):
    return read_dump((DUMPS / f"{name}.{which}.txt").read_text(), which)


def moved(good, bad):
    return [package for package in IMPORTED if good.get(path := f"packages/{package}/version") != bad.get(path) and path in bad.facts and path in good.facts]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_resolution_twice_blames_nobody(name):
    assert told(side(name, "good"), side(name, "good"), Symptom("startup-crash")).suspects == ()


@pytest.mark.parametrize("name", NAMES)
def test_the_package_that_the_error_names_is_among_the_first_three(name):
    good, bad = side(name, "good"), side(name, "bad")
    packages = moved(good, bad)
    assert packages
    for package in packages:
        error = f"AttributeError: module '{IMPORTED[package]}' has no attribute 'old_name'"
        ranked = [one.subject.name for one in told(good, bad, Symptom("startup-crash", error)).suspects]
        assert package in ranked[:3], (package, ranked)

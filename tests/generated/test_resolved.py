"""What two dates make of one requirement set (benchmarks/resolved_pairs.py --write made the dumps): real collateral around one package that failed."""

from __future__ import annotations

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.model import Symptom
from tests.explain.cases import told
from tests.generated.pairs import dated, dump

DATED = [one for one in dated() if one[0] in ("sglang-0.5.2", "vllm-0.10.2", "transformers-serving")]
IMPORTED = {
    "fastapi": "fastapi", "xgrammar": "xgrammar", "transformers": "transformers", "numpy": "numpy", "pydantic": "pydantic", "mistral-common": "mistral_common",
}


def side(name, date):
    return read_dump(dump(name, date).read_text(), date)


def moved(good, bad):
    return [package for package in IMPORTED if good.get(path := f"packages/{package}/version") != bad.get(path) and path in bad.facts and path in good.facts]


@pytest.mark.parametrize(("name", "date"), sorted({(name, good) for name, good, _ in DATED}))
def test_the_same_resolution_twice_blames_nobody(name, date):
    assert told(side(name, date), side(name, date), Symptom("startup-crash")).suspects == ()


@pytest.mark.parametrize(("name", "good", "bad"), DATED)
def test_the_package_that_the_error_names_is_among_the_first_three(name, good, bad):
    sides = side(name, good), side(name, bad)
    packages = moved(*sides)
    assert packages
    for package in packages:
        error = f"AttributeError: module '{IMPORTED[package]}' has no attribute 'old_name'"
        ranked = [one.subject.name for one in told(*sides, Symptom("startup-crash", error)).suspects]
        assert package in ranked[:3], (package, ranked)

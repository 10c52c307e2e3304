"""Factors of groups of weights, fitted to questions with known answers by Newton's method. Pure arithmetic: it reads no incident and knows no rule.

The loss of a question is that of each candidate's confidence (binary cross-entropy) and that of the order (softmax of the culprit among all). A ridge
draws every factor to what was judged; a factor stays between 0.25 and 4, so that no weight changes its sign.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

LEAST, MOST = 0.25, 4.0
STEPS, NEAR = 30, 1e-3
WORST_ODDS = 40.0
BIAS = "bias"
Factors = Mapping[str, float]


@dataclass(frozen=True)
class Candidate:
    """One subject: its judged sums by group, the part that no factor touches, and whether it is the culprit."""

    name: str
    sums: Mapping[str, float]
    fixed: float
    is_culprit: bool

    def log_odds(self, factors: Factors) -> float:
        """Return its log-odds under these factors; a group without one keeps what was judged."""
        judged = sum(value * factors.get(group, 1.0) for group, value in self.sums.items())
        return max(-WORST_ODDS, min(WORST_ODDS, self.fixed + factors.get(BIAS, 0.0) + judged))


@dataclass(frozen=True)
class Question:
    """One way of asking about one incident. ``weight``: all questions about an incident weigh 1 together."""

    incident: str
    corpus: str
    way: str
    candidates: tuple[Candidate, ...]
    weight: float = 1.0


@dataclass(frozen=True)
class Figures:
    """How questions came out: shares of culprits first and in the first three, mean reciprocal rank, Brier at rank 1, mean loss of an incident."""

    top1: float
    top3: float
    reciprocal: float
    brier: float
    loss: float


def fit(questions: Sequence[Question], groups: Sequence[str], stiffness: float, start: Factors | None = None) -> dict[str, float]:
    """Return the factors that make the loss of these questions and the ridge small, from ``start`` or from what was judged."""
    names = [BIAS, *groups]
    at = [(start or {}).get(name, _judged(name)) for name in names]
    for _ in range(STEPS):
        slope, bend = _derivatives(questions, names, dict(zip(names, at, strict=True)))
        for place, name in enumerate(names):
            slope[place] += stiffness * (at[place] - _judged(name))
            bend[place][place] += stiffness
        moved = [_within(name, old - step) for name, old, step in zip(names, at, _solve(bend, slope), strict=True)]
        largest = max(abs(new - old) for new, old in zip(moved, at, strict=True))
        at = moved
        if largest < NEAR:
            break
    return dict(zip(names, at, strict=True))


def figures(asked: Iterable[tuple[Question, Factors]], shown: float) -> Figures:
    """Return how questions come out, each under its factors; a suspect below ``shown`` is none, and where nobody is blamed the confidence is 0."""
    ranks, briers, losses = [], [], []
    for question, factors in asked:
        ranked = sorted(((one.log_odds(factors), one.is_culprit) for one in question.candidates), reverse=True, key=lambda pair: pair[0])
        seen = [(odds, is_culprit) for odds, is_culprit in ranked if _logistic(odds) >= shown]
        rank = next((place for place, (_, is_culprit) in enumerate(seen, 1) if is_culprit), None)
        first = _logistic(seen[0][0]) if seen else 0.0
        briers.append((first - (rank == 1)) ** 2)
        losses.append(_loss(ranked))
        if any(one.is_culprit for one in question.candidates):
            ranks.append(rank)
    return Figures(
        _share(rank == 1 for rank in ranks), _share(rank is not None and rank <= 3 for rank in ranks),
        statistics.fmean(1 / rank if rank else 0.0 for rank in ranks), statistics.fmean(briers), statistics.fmean(losses),
    )


def _judged(name: str) -> float:
    return 0.0 if name == BIAS else 1.0


def _within(name: str, value: float) -> float:
    return max(-2.0, min(2.0, value)) if name == BIAS else max(LEAST, min(MOST, value))


def _logistic(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def _share(hits: Iterable[bool]) -> float:
    return statistics.fmean(float(hit) for hit in hits)


def _loss(ranked: Sequence[tuple[float, bool]]) -> float:
    """Return the loss of one question: of each confidence, and of the order where there is a culprit."""
    total = sum(math.log1p(math.exp(-odds if is_culprit else odds)) for odds, is_culprit in ranked)
    culprits = [odds for odds, is_culprit in ranked if is_culprit]
    if culprits:
        total += math.log(sum(math.exp(odds) for odds, _ in ranked)) - math.log(sum(math.exp(odds) for odds in culprits))
    return total


def _derivatives(questions: Sequence[Question], names: Sequence[str], factors: Factors) -> tuple[list[float], list[list[float]]]:
    """Return slope and curvature of the questions' losses by factor; of the order's loss the part that is never negative."""
    places = {name: place for place, name in enumerate(names)}
    slope, bend = [0.0] * len(names), [[0.0] * len(names) for _ in names]
    for question in questions:
        rows = [({places[group]: value for group, value in (*one.sums.items(), (BIAS, 1.0)) if group in places}, one) for one in question.candidates]
        odds = [one.log_odds(factors) for _, one in rows]
        shares, among = _softmax(odds), _softmax([one if row[1].is_culprit else -math.inf for one, row in zip(odds, rows, strict=True)])
        mean: dict[int, float] = {}
        for (row, one), log_odds, share, culprit in zip(rows, odds, shares, among, strict=True):
            sure = _logistic(log_odds)
            pull = sure - one.is_culprit + (share - culprit if any(among) else 0.0)
            curve = sure * (1 - sure) + (share if any(among) else 0.0)
            for place, value in row.items():
                slope[place] += question.weight * pull * value
                mean[place] = mean.get(place, 0.0) + share * value
                for other, partner in row.items():
                    bend[place][other] += question.weight * curve * value * partner
        if any(among):
            for place, value in mean.items():
                for other, partner in mean.items():
                    bend[place][other] -= question.weight * value * partner
    return slope, bend


def _softmax(odds: Sequence[float]) -> list[float]:
    largest = max(odds, default=-math.inf)
    if largest == -math.inf:
        return [0.0] * len(odds)
    raised = [math.exp(one - largest) for one in odds]
    return [one / sum(raised) for one in raised]


def _solve(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Return the solution of a system of linear equations, by elimination with row exchanges."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for column in range(size):
        best = max(range(column, size), key=lambda place: abs(rows[place][column]))
        rows[column], rows[best] = rows[best], rows[column]
        for place in range(column + 1, size):
            ratio = rows[place][column] / rows[column][column]
            if ratio:
                rows[place] = [value - ratio * above for value, above in zip(rows[place], rows[column], strict=True)]
    found = [0.0] * size
    for place in reversed(range(size)):
        known = sum(rows[place][column] * found[column] for column in range(place + 1, size))
        found[place] = (rows[place][size] - known) / rows[place][place]
    return found

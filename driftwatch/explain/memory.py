"""The arithmetic of SGLang's start-up memory, in GiB. Pure numbers; it reads no snapshot and guesses nothing.

What is left for the KV cache is ``after load - before load x (1 - fraction)``, the same in every release from 0.3.0 to 0.5.23. ``before`` is the memory
that was free after NCCL came up and before the weights were loaded (not the card's size), ``after`` what was free behind them, each the least of all
ranks and of the whole device: what other processes hold is missing from both. The server refuses to start where nothing is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from driftwatch.explain.releases import Release, Span, found_in
from driftwatch.explain.words import MINUS, TIMES, fixed
from driftwatch.model import Unknown

BALANCE = 0.9  # a rank whose own free memory is more than the least of all by this factor stops a server of several ranks
OLD_SWITCH, NEW_SWITCH = "SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK", "SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK"
NOT_ENOUGH = "Not enough memory. Please try to increase --mem-fraction-static."
NO_ROOM = "Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static"
UNBALANCED = "The memory capacity is unbalanced. Some GPUs may be occupied by other processes."

Where = Literal["every GPU", "one GPU", "every GPU while loading"]
Ends = Literal["fits", "not enough", "unbalanced"]
Guard = Literal["stops", "warns"]


@dataclass(frozen=True)
class Start:
    """The numbers of one start: GiB free before and after the weights were loaded, the fraction, and the facts they stand in."""

    before: float
    after: float
    fraction: float
    facts: tuple[str, ...] = ()

    def rest(self, *, fraction: float | None = None) -> float:
        """Return the GiB that are left for the KV cache, with this start's fraction or another one."""
        return self.after - self.before * (1 - (self.fraction if fraction is None else fraction))

    @property
    def least(self) -> float:
        """Return the fraction at which nothing is left: the server needs more."""
        return 1 - self.after / self.before

    @property
    def loaded(self) -> float:
        """Return the GiB that went between the two measurements: weights, and whatever else was taken meanwhile."""
        return self.before - self.after

    @property
    def row(self) -> str:
        """Return the formula with its numbers."""
        return f"{fixed(self.after)} {MINUS} {fixed(self.before)} {TIMES} (1 {MINUS} {self.fraction:g})"


def room_for_hog(start: Start, where: Where) -> float:
    """Return how many GiB another process may hold before the server stops for want of memory; 0 where it stops anyhow."""
    return max(0.0, start.rest()) / (1.0 if where == "every GPU while loading" else start.fraction)


def unbalancing(start: Start) -> float:
    """Return the GiB on one GPU alone from which on the balance check speaks."""
    return (1 - BALANCE) * start.before


def is_unbalanced(least: float, most: float) -> bool:
    """Tell whether the balance check speaks: the least free memory of all ranks is under 0.9 of what the freest rank has (GiB, before load)."""
    return least < BALANCE * most


def ends(start: Start, most: float, ranks: int, guard: Guard) -> Ends:
    """Return how a start ends. The balance check is asked first; ``most`` is what the freest rank has before load, in GiB."""
    if ranks > 1 and guard == "stops" and is_unbalanced(start.before, most):
        return "unbalanced"
    return "fits" if start.rest() > 0 else "not enough"


def says_when_short(release: Release | Unknown) -> str:
    """Return the beginning of the error that a release raises where nothing is left; of an unknown one the text that all older ones share."""
    return NO_ROOM if not isinstance(release, Unknown) and release >= (0, 5, 15) else NOT_ENOUGH


# Which switch turns the balance check into a warning. "copied": the old variable's value is written into the new one unchanged, which turns its meaning round.
_SWITCHES: tuple[Span[str], ...] = (
    Span((0, 3, 0), (0, 4, 3), "none"), Span((0, 4, 6), (0, 5, 6), "old"), Span((0, 5, 8), (0, 5, 15), "copied"), Span((0, 5, 23), (0, 5, 23), "new"),
)
_TRUE, _FALSE = ("true", "1", "yes", "y"), ("false", "0", "no", "n")


def guard_of(release: Release | Unknown, variables: Mapping[str, str]) -> Guard | Unknown:
    """Return whether the balance check stops a server of this release or only warns, with these variables set in its environment."""
    switch = found_in(_SWITCHES, release)
    if isinstance(switch, Unknown):
        return switch if {OLD_SWITCH, NEW_SWITCH} & set(variables) else "stops"
    if switch == "none":
        return "stops"
    if switch == "old":
        return "warns" if variables.get(OLD_SWITCH, "").lower() in _TRUE[:2] else "stops"
    told = variables.get(OLD_SWITCH, variables.get(NEW_SWITCH)) if switch == "copied" else variables.get(NEW_SWITCH)
    if told is None or told.lower() in _TRUE:
        return "stops"
    return "warns" if told.lower() in _FALSE else Unknown("error", f"{told} is no boolean of SGLang's")


def switch_trap(release: Release | Unknown, variables: Mapping[str, str]) -> str:
    """Return what is to be said of a variable that a newer release reads the other way round; empty where there is none."""
    if OLD_SWITCH not in variables or found_in(_SWITCHES, release) != "copied":
        return ""
    told, effect = variables[OLD_SWITCH], "stops the server" if guard_of(release, variables) == "stops" else "only warns"
    return f"{OLD_SWITCH}={told} is copied unchanged into {NEW_SWITCH} by this release, so the balance check {effect}; up to 0.5.6 it meant the opposite"


# What the sum leaves out, by release.
_LEAVES_OUT: tuple[Span[str], ...] = (
    Span((0, 3, 0), (0, 5, 12), "a draft model's weights are loaded after the KV cache was sized: they come out of what the fraction leaves free"),
    Span((0, 5, 15), (0, 5, 15), "a draft model's weights are loaded before the KV cache is sized and count against the fraction"),
    Span((0, 5, 18), (0, 5, 23), "a draft model's weights count against the fraction, and the KV cache may be sized again after the graphs were captured"),
)


def leaves_out(release: Release | Unknown) -> str | Unknown:
    """Return what a reader of the sum should know of this release where it decodes speculatively."""
    return found_in(_LEAVES_OUT, release)

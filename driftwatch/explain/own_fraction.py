"""What a server's own default fraction is, as far as a snapshot tells: of this model, of one of text alone, and whether it was taken."""

from __future__ import annotations

from dataclasses import dataclass, replace

from driftwatch.explain import starts
from driftwatch.explain.default_fraction import LEAST_VISION, MOST_VISION, TEXT_ONLY, Launch, default_fraction
from driftwatch.explain.releases import Release
from driftwatch.explain.words import fixed
from driftwatch.model import Snapshot, Unknown


@dataclass(frozen=True)
class OwnFraction:
    """What is known of the release's own fraction: of this model, of one of text alone, and whether the server took it."""

    launch: Launch
    of_text: float | Unknown
    fraction: float | Unknown
    was_taken: bool | Unknown


def own_fraction(snapshot: Snapshot, server: str, release: Release | Unknown) -> OwnFraction:
    """Return the own. Where the server took it, what its log resolved tells how much a vision tower cost."""
    launch = starts.launch_of(snapshot, server, release)
    of_text = default_fraction(release, replace(launch, vision=TEXT_ONLY))
    given, resolved = starts.was_given(snapshot, server, starts.FRACTION), starts.fraction_of(snapshot, server)
    if isinstance(of_text, float) and isinstance(resolved, float):
        if _is_beyond(resolved, of_text):
            given = True
        elif given is False:
            factor = resolved / of_text
            launch = replace(launch, vision=TEXT_ONLY if starts.is_text_only(factor) else factor)
            return OwnFraction(launch, of_text, resolved, was_taken=True)
    return OwnFraction(launch, of_text, default_fraction(release, launch), given if isinstance(given, Unknown) else not given)


def _is_beyond(resolved: float, of_text: float) -> bool:
    """Tell whether no model whatever would have been given this fraction by own."""
    return not LEAST_VISION * of_text - 0.001 <= resolved <= of_text + 0.001


def with_graphs(own: OwnFraction, release: Release | Unknown, graph_bs: int | None) -> tuple[float | Unknown, float | Unknown]:
    """Return the default with the graph batch that was asked for: of this model, and of one of text alone."""
    launch = replace(own.launch, graph_bs=graph_bs)
    return default_fraction(release, launch), default_fraction(release, replace(launch, vision=TEXT_ONLY))


def say_origin(own: OwnFraction) -> str:
    """Return whether the fraction was given."""
    if isinstance(own.was_taken, Unknown):
        return "as the log resolved it"
    return "the default of this release" if own.was_taken else "given"


def say_default(own: OwnFraction) -> str:
    """Return what the release would have taken by itself, as far as that can be told."""
    if own.was_taken is True:
        return "nobody gave it"
    if isinstance(own.fraction, float):
        return f"the default would be {fixed(own.fraction, 3)}"
    if isinstance(own.of_text, float):
        low, high = (fixed(factor * own.of_text, 3) for factor in (LEAST_VISION, MOST_VISION))
        return f"the default would be {fixed(own.of_text, 3)} of a text model, {low} to {high} of one that sees"
    return f"the default is not known: {own.of_text.reason}"

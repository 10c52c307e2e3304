"""Which profile a command line asks for: the config file's own, laid over the one that is built in."""

from __future__ import annotations

from dataclasses import dataclass

from driftwatch.capture.profiles import DEFAULT, Choice, built_in
from driftwatch.settings import Profile, Settings, SettingsError


@dataclass(frozen=True)
class Chosen:
    """A profile in both its parts: how hosts are reached and where to look, and what to ask."""

    profile: Profile
    choice: Choice


def chosen(name: str | None, settings: Settings) -> Chosen:
    """Return the profile of ``--profile``, else the usual one. Raises SettingsError for a name that neither the file nor we have."""
    usual = built_in()
    label = name or DEFAULT
    profile = settings.profile(label, usual)
    like = profile.like or (label if label in usual else DEFAULT)
    if like not in usual:
        raise SettingsError(f"profiles.{label}.like is {like!r}", str(settings.file), f"one of: {', '.join(sorted(usual))}")
    own = Choice(label, profile.packages, profile.env_prefixes, profile.groups, profile.skip, profile.deadlines_s)
    return Chosen(profile, own.over(usual[like]))

"""The TOML file, the environment and the clock, read once at the edge into frozen values. Nobody else reads them; nothing here is obeyed from a host.

The nearest file wins whole: ``driftwatch.toml`` or ``[tool.driftwatch]`` of a ``pyproject.toml`` here or above, else the user's own
``config.toml``. A file that was only found, not named, must belong to us or to root, and nobody else may write to it: it can name programs that ssh runs.
"""

from __future__ import annotations

import difflib
import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from driftwatch.places import is_own, is_web_address, user_path

FILE = "driftwatch.toml"
SHARED_FILE = "pyproject.toml"
OWN_WORD, OWN_TABLE = b"driftwatch", b"[tool.driftwatch"
LARGEST_FILE = 1 << 20
HOST_DEADLINE = "host"
ROLE_LISTS = ("shared", "identity", "readings", "texts", "nearly", "versions")
TRANSPORTS = ("openssh", "paramiko", "local", "docker", "podman", "kubectl", "slurm")
_NAME = re.compile(r"[A-Za-z_]\w+", re.ASCII)


class SettingsError(Exception):
    """A config file, or a variable, that cannot be followed: what is wrong, where, and what to do."""

    def __init__(self, what: str, where: str = "", do: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.do = do


@dataclass(frozen=True)
class Environment:
    """What variables say. ``color`` is None where nobody says."""

    store: str | None = None
    config: str | None = None
    pager: str | None = None
    color: bool | None = None
    is_dumb: bool = False
    columns: int | None = None


@dataclass(frozen=True)
class Profile:
    """How a group of hosts is looked at. ``deadlines_s`` are by probe; the whole host's stands under ``host``. ``like`` names a built-in profile to add to."""

    transport: str | None = None
    pythons: tuple[str, ...] = ()
    source: str | None = None
    deadlines_s: Mapping[str, float] = field(default_factory=dict)
    like: str | None = None
    packages: tuple[str, ...] = ()
    env_prefixes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """A group of hosts: names and ranges, inventories as ``KIND:PLACE`` (driftwatch/fleet/sources), how they are looked at, whom ssh jumps over."""

    members: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    profile: str | None = None
    jump: str | None = None
    pythons: tuple[str, ...] = ()
    source: str | None = None
    deadlines_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Audit:
    """What the file says of audits: what counts as a finding, globs of facts that are no drift, and whom to tell.

    ``webhook_secret`` is the file that holds the key for the webhook's signature.
    """

    fail_on: str | None = None
    ignore: tuple[str, ...] = ()
    webhook: str | None = None
    webhook_secret: Path | None = None
    apprise: tuple[str, ...] = ()
    metrics: Path | None = None
    push_gateway: str | None = None


@dataclass(frozen=True)
class Ssh:
    """How hosts are reached over ssh: so many at once through one jump host, and whether paramiko may use the ssh-agent."""

    jump_sessions: int = 8
    is_agent_asked: bool = False


@dataclass(frozen=True)
class Settings:
    """What the config file and the environment say together. ``file`` is the config file, if there is one."""

    file: Path | None = None
    store: str | None = None
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    also_show: tuple[str, ...] = ()
    ssh_options: tuple[str, ...] = ()
    ssh: Ssh = Ssh()
    rules: tuple[Path, ...] = ()
    environment: Environment = Environment()
    groups: Mapping[str, Group] = field(default_factory=dict)
    audit: Audit = Audit()
    roles: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)

    def profile(self, name: str, built_in: Iterable[str] = ()) -> Profile:
        """Return what the file says of a profile: nothing of one that is built in only. Raises SettingsError for a name that is neither."""
        known = set(built_in)
        if name not in known | set(self.profiles):
            names = ", ".join(sorted(known | set(self.profiles))) or "none"
            raise SettingsError(f"there is no profile {name!r}; there are: {names}", str(self.file or "no config file"), f"write it as [profiles.{name}]")
        return self.profiles.get(name, Profile())


def load_settings(environ: Mapping[str, str], folder: Path, named: str | None = None) -> Settings:
    """Return the settings as seen from a folder; ``named`` is the file of --config, which goes before DRIFTWATCH_CONFIG."""
    environment = read_environment(environ)
    file = named or environment.config
    if file is not None:
        path = user_path(file, SettingsError)
        return _build(path, _own_table(path, _read(path)) or {}, environment)
    for path in _places(environ, folder):
        if os.path.isfile(path) and (table := _found(path)) is not None:  # noqa: PTH113  # Path's raises where a folder may not be looked into
            _refuse_foreign(path)
            return _build(path, table, environment)
    return Settings(environment=environment)


def read_environment(environ: Mapping[str, str]) -> Environment:
    """Return what the variables say that driftwatch knows."""
    return Environment(
        store=environ.get("DRIFTWATCH_STORE") or None,
        config=environ.get("DRIFTWATCH_CONFIG") or None,
        pager=environ.get("DRIFTWATCH_PAGER", environ.get("PAGER")),
        color=False if environ.get("NO_COLOR") else True if _is_forced(environ) else None,
        is_dumb=environ.get("TERM") == "dumb",
        columns=_whole(environ.get("COLUMNS")),
    )


def store_place(settings: Settings, named: str | None = None) -> str:
    """Return the store's folder or URL: --store, else DRIFTWATCH_STORE, else the config file's, else the user's data folder."""
    told = named or settings.environment.store or settings.store
    if told is None:
        import platformdirs  # noqa: PLC0415  # only the default place pays for it

        return str(platformdirs.user_data_path("driftwatch", appauthor=False))
    return told


def cache_folder() -> Path:
    """Return the folder of this user for what only saves time."""
    import platformdirs  # noqa: PLC0415  # only a store behind a URL pays for it

    return platformdirs.user_cache_path("driftwatch", appauthor=False)


def spool_folder() -> Path:
    """Return the folder of this user for snapshots that their store did not take."""
    import platformdirs  # noqa: PLC0415  # as above

    return platformdirs.user_state_path("driftwatch", appauthor=False) / "spool"


def utc_now() -> str:
    """Return the time now as ``2026-03-04T03:12:00Z``."""
    return datetime.now(tz=timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _is_forced(environ: Mapping[str, str]) -> bool:
    return any(environ.get(name, "") not in ("", "0") for name in ("CLICOLOR_FORCE", "FORCE_COLOR"))


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 12 else None


def _places(environ: Mapping[str, str], folder: Path) -> Iterator[Path]:
    """Yield where a config file may stand, nearest first."""
    for one in (folder, *folder.parents):
        yield one / FILE
        yield one / SHARED_FILE
    own = environ.get("XDG_CONFIG_HOME") or (environ["HOME"] + "/.config" if environ.get("HOME") else None)
    if own:
        yield Path(own) / "driftwatch" / "config.toml"


def _refuse_foreign(path: Path) -> None:
    if not is_own(path.stat()):
        said = "the config file is refused: somebody else owns it or may write to it"
        raise SettingsError(said, str(path), f"chmod go-w {path} if it is yours, or name it with --config FILE")


def _found(path: Path) -> Mapping[str, Any] | None:
    """Return the table of a file that nobody named; None for a pyproject.toml without ours, and for a broken one that does not speak of it."""
    data = _read(path)
    if path.name == SHARED_FILE and OWN_WORD not in data:
        return None
    try:
        return _own_table(path, data)
    except SettingsError:
        if path.name == SHARED_FILE and OWN_TABLE not in data:
            return None
        raise


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise SettingsError("there is no such config file", str(path), "check --config and DRIFTWATCH_CONFIG")
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as failed:
        raise SettingsError(f"the config file cannot be read: {(failed.strerror or str(failed)).lower()}", str(path)) from None
    if len(data) > LARGEST_FILE:
        raise SettingsError(f"the config file is larger than {LARGEST_FILE >> 10} KiB", str(path))
    return data


def _own_table(path: Path, data: bytes) -> Mapping[str, Any] | None:
    """Return the table that a file holds for us; None for a pyproject.toml that has none."""
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        table: Mapping[str, Any] = toml.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as wrong:
        raise SettingsError(f"the config file is no TOML: {wrong}", str(path), "correct it") from None
    if path.name != SHARED_FILE:
        return table
    tool = table.get("tool")
    own = tool.get("driftwatch") if isinstance(tool, dict) else None
    return own if isinstance(own, dict) else None


@dataclass(frozen=True)
class _Table:
    """One table of the file, with its place for errors. Each method returns a value of one type or raises SettingsError."""

    path: Path
    place: str
    values: Mapping[str, Any]

    def allow(self, known: Iterable[str]) -> None:
        """Refuse keys that nobody reads."""
        for key in self.values:
            if key not in (names := tuple(known)):
                near = difflib.get_close_matches(key, names, 1)
                do = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(names)}"
                raise SettingsError(f"unknown key {self._name(key)!r}", str(self.path), do)

    def table(self, key: str) -> _Table:
        """Return a table below; an empty one where it is missing."""
        return _Table(self.path, self._name(key), self._value(key, dict, "a table") or {})

    def text(self, key: str) -> str | None:
        """Return a text."""
        found: str | None = self._value(key, str, "a text")
        return found

    def located(self, key: str, folder: Path) -> Path | None:
        """Return a path; one that is not absolute begins in the config file's folder."""
        told = self.text(key)
        return None if told is None else folder / self.path_of(told)

    def path_of(self, told: str) -> Path:
        """Return a path that this table holds, its home folder put in."""
        return user_path(told, lambda what, where, do: SettingsError(f"{what}: {where}", str(self.path), do))

    def url(self, key: str) -> str | None:
        """Return an http or https address."""
        found = self.text(key)
        if found is not None and not is_web_address(found):
            raise self._wrong(key, "an address such as https://HOST/PATH")
        return found

    def number(self, key: str, usual: int) -> int:
        """Return a whole number from 1 to 1000."""
        found = self.values.get(key, usual)
        if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= 1000:
            raise self._wrong(key, "a whole number from 1 to 1000")
        return found

    def is_true(self, key: str) -> bool:
        """Return a yes or no; no where it is missing."""
        return bool(self._value(key, bool, "true or false"))

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts; one text stands for a list of one."""
        found = self._value(key, (str, list), "a list of texts")
        listed = [found] if isinstance(found, str) else found or []
        if not all(isinstance(one, str) for one in listed):
            raise self._wrong(key, "a list of texts")
        return tuple(listed)

    def names(self, key: str) -> tuple[str, ...]:
        """Return a list of names as Python and the shell have them, each of two characters at least: an empty prefix would fit every variable."""
        found = self.texts(key)
        if not all(_NAME.fullmatch(one) for one in found):
            raise self._wrong(key, "a list of names of letters, digits and _")
        return found

    def seconds(self) -> dict[str, float]:
        """Return all of this table as seconds."""
        for key, value in self.values.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e6:
                raise self._wrong(key, "a number of seconds above 0")
        return {key: float(value) for key, value in self.values.items()}

    def _value(self, key: str, kind: type | tuple[type, ...], words: str) -> Any:
        value = self.values.get(key)
        if value is not None and not isinstance(value, kind):
            raise self._wrong(key, words)
        return value

    def _name(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def _wrong(self, key: str, words: str) -> SettingsError:
        return SettingsError(f"{self._name(key)!r} must be {words}", str(self.path), "correct it")


def _build(path: Path, values: Mapping[str, Any], environment: Environment) -> Settings:
    top = _Table(path, "", values)
    top.allow(("store", "ssh_options", "ssh", "profiles", "redact", "rules", "hosts", "audit", "alerts", "roles"))
    redact, rules, profiles, hosts = top.table("redact"), top.table("rules"), top.table("profiles"), top.table("hosts")
    redact.allow(("also_show",))
    ssh = top.table("ssh")
    ssh.allow(("options", "jump_sessions", "agent"))
    rules.allow(("paths",))
    return Settings(
        file=path,
        store=top.text("store"),
        profiles={name: _profile(profiles.table(name)) for name in profiles.values},
        also_show=redact.texts("also_show"),
        ssh_options=(*ssh.texts("options"), *top.texts("ssh_options")),
        ssh=Ssh(ssh.number("jump_sessions", Ssh.jump_sessions), is_agent_asked=ssh.is_true("agent")),
        rules=tuple(path.parent / rules.path_of(one) for one in rules.texts("paths")),
        environment=environment,
        groups={name: _group(hosts, name) for name in hosts.values},
        audit=_audit(top.table("audit"), top.table("alerts"), path.parent),
        roles={name: _role(top.table("roles").table(name)) for name in top.table("roles").values},
    )


def _group(hosts: _Table, name: str) -> Group:
    if not isinstance(hosts.values[name], dict):
        return Group(hosts.texts(name))
    table = hosts.table(name)
    table.allow(("members", "from", "profile", "jump", "python", "source", "deadline"))
    return Group(
        table.texts("members"), table.texts("from"), table.text("profile"), table.text("jump"), table.texts("python"), table.text("source"),
        table.table("deadline").seconds(),
    )


def _audit(audit: _Table, alerts: _Table, folder: Path) -> Audit:
    audit.allow(("fail_on", "ignore", "metrics", "push_gateway"))
    alerts.allow(("webhook", "webhook_secret", "apprise"))
    return Audit(
        audit.text("fail_on"), audit.texts("ignore"), alerts.url("webhook"), alerts.located("webhook_secret", folder), alerts.texts("apprise"),
        audit.located("metrics", folder), audit.url("push_gateway"),
    )


def _role(table: _Table) -> Mapping[str, tuple[str, ...]]:
    """Return what the site adds to a role (compare/peers_roles.py)."""
    table.allow(ROLE_LISTS)
    return {key: table.texts(key) for key in table.values}


def _profile(table: _Table) -> Profile:
    table.allow(("transport", "python", "source", "deadline", "like", "packages", "env_prefixes", "with", "skip"))
    transport = table.text("transport")
    if transport is not None and transport not in TRANSPORTS:
        raise SettingsError(f"{table.place}.transport is {transport!r}", str(table.path), f"one of: {', '.join(TRANSPORTS)}")
    return Profile(
        transport, table.texts("python"), table.text("source"), table.table("deadline").seconds(), like=table.text("like"),
        packages=table.names("packages"), env_prefixes=table.names("env_prefixes"), groups=table.texts("with"), skip=table.texts("skip"),
    )

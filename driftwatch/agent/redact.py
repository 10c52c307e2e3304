"""Secrets are masked before they leave the host: by the names of variables and arguments, and by one last look at every text.

A secret is told as a keyed digest, so that a changed one still shows; without a key only as masked. Known token shapes and names decide, never the
look of randomness, so that digests, commits, versions, UUIDs and paths stay whole.
"""
from __future__ import annotations

import json
import re

from .secret_names import is_harmless, is_secret_field, is_secret_variable, is_shown
from .typed import Any, Dict, Iterable, List, Tuple

DIGITS = 16
_NAMES = ("key", "token", "secret", "passw", "passphrase", "pwd", "cred", "auth")
_NAMED = r"(?i)(?:%s)[\w.-]{0,40}\\*[\"']?\s{0,4}(?:[:=]|(?<=\s)\S)" % "|".join(_NAMES)  # patterns are compiled where they are first needed: few hosts need all
_MARKS = (
    "sk-", "hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glrt-", "glptt-", "akia", "asia", "aiza", "eyj", "xox", "xapp-",
    "npm_", "api_org_", "nvapi-", "pypi-", "dckr_", "ya29.", "bearer", "webhook", "hooks.slack", "sig=",
    "signature=", "private key", "curl ", "redis-cli ", " -p",
)
_START = r"(?:(?<![A-Za-z0-9\\])|(?<=\\[nrt]))"  # where a word starts, also behind an escaped line end
_BLOCK = r"(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
_SHAPE = (
    r"(?s)-----BEGIN " + _BLOCK + r"(?:\\+[nr]|[A-Za-z0-9+/=:,.()\s]|-(?!----))*(?:-----END " + _BLOCK + r")?|" + _START +
    r"(?:(?:hf|api_org|npm)_[A-Za-z0-9]{30,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,}|gl(?:pat|dt|rt|ptt)-[A-Za-z0-9_-]{18,}"
    r"|sk-[0-9a-f]{32,}|sk-(?=[\w-]{0,99}[0-9])(?=[\w-]{0,99}[A-Z])(?=[\w-]{0,99}[a-z])[\w-]{20,}|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])|AIza[A-Za-z0-9_-]{35}"
    r"|eyJ[A-Za-z0-9_-]{8,999}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?|xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{20,}|pypi-[A-Za-z0-9_-]{50,}"
    r"|nvapi-[A-Za-z0-9_-]{40,}|dckr_[a-z]+_[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,})")
_LOGINS = {  # the options behind which a program takes its password, by patterns of both
    "curl": "-[fgikLNsSv]{0,9}[uU]|--(?:proxy-)?user(?![\\w-])", r"sshpass|login|mysql\w*|mariadb\w*|mongo\w*": "-p", "redis-cli": "-a", "ipmitool": "-P",
}
_LOGIN = r"(?-i:\b(?:%s)[ =]?)" % "|".join(r"(?:%s)\s(?:[^\n|;\"]{0,200}\s)?(?:%s)" % one for one in _LOGINS.items())
_AFTER = (  # what stands behind these is secret; the first group stays
    r"(?i)((?<![A-Za-z0-9])[Bb][Ee][Aa][Rr][Ee][Rr]\s+)((?=[^\s\"'\\]*[0-9]|[^\s\"'\\]{20})[A-Za-z0-9._~+/=-]{8,})"
    r"|(hooks\.slack\.com/[a-z]+/|discord(?:app)?\.com/api/webhooks/)([A-Za-z0-9/_-]{8,})|([?&;](?:sig|signature|x-amz-signature)=)([A-Za-z0-9%+/=_-]{8,})"
    r"|(" + _LOGIN + r")([^\s\"'\\]+)")
_USER = r"[^\s/\"'\\<>?#]+"
USERINFO = (  # as a URL has it, before a host with a dot; else, after a name and a colon, all up to the last @ of the word, but for a host and its port
    r"(?<![A-Za-z0-9+.-])([A-Za-z][A-Za-z0-9+.-]{0,20}://)(" + _USER + r"(?=@[\w-]+\.\w)"
    r"|(?![^:/]+:\d{1,5}/)[^\s/\"'\\<>?#:\[]*:(?:(?!://|\\[\"'nrt])[^\s\"'])*|" + _USER + r")@(?!sha\d+:)")
_PAIR = r"(?:(?<![\w.\\-])|(?<=\\[nrt]))(?P<name>[A-Za-z_][\w.-]{1,79})(?P<shut>\\*[\"'])?\s{0,4}(?::(?![:/])|=>|=(?!=))\s{0,4}(?P<open>\\*[\"'])?"
_OPTION = r"(?<![\w-])(?P<name>--?[A-Za-z][\w-]{1,79})(?P<shut>)(?:=|[ \t]{1,8}(?!-(?:[A-Za-z]{0,3}(?![\w-])|-[a-z])))(?P<open>\\*[\"'])?"
_BARE = r"[^\s,;&'\"<>()\[\]{}\\|]+"
_SCHEME = r"(?i)(?:basic|bearer|token|digest|negotiate)\s+(?=\S)"
_QUOTE = r"(\\*)([\"'])"
_OPAQUE = r"(?s)(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z]).{16,}"
_MASKED = ("[secret", "[masked")
_SWITCH = r"-[A-Za-z]{0,3}|--[a-z][a-z-]+(?:=.*)?"


class Redactor:
    """Masks what must not leave this host. ``key`` is the host's own, from the controller; ``also_show`` are names whose values may leave."""

    def __init__(self, key: bytes = b"", also_show: Iterable[str] = (), prefixes: Iterable[str] = ()) -> None:
        self.key = key
        self.also_show = frozenset(also_show)
        self.prefixes = tuple(prefixes)

    def is_shown(self, name: str) -> bool:
        """Tell whether a variable of this name is told at all; of any other neither name nor value leaves."""
        return is_shown(name) or name in self.also_show or (bool(self.prefixes) and name.startswith(self.prefixes))

    def value(self, name: str, text: str) -> Any:
        """Return a variable's value as it may leave: the text, its keyed digest where the name is a secret's, masked where the name is not listed."""
        if not self.is_shown(name):
            return {"masked": True}
        if name not in self.also_show and is_secret_variable(name) and not is_harmless(name, text):
            return self.keyed(text)
        return self.text(text)

    def argument(self, name: str, value: Any) -> Any:
        """Return the value of an argument or a field as it may leave, whatever JSON it is."""
        if is_secret_field(name) and not (isinstance(value, (bool, int, float)) or value is None) and not (isinstance(value, str) and is_harmless(name, value)):
            return self.keyed(value if isinstance(value, str) else json.dumps(value, sort_keys=True))
        if isinstance(value, dict):
            return {self.text(str(key)): self.argument(str(key), one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.argument("", one) for one in value]
        return self.text(value) if isinstance(value, str) else value

    def arguments(self, argv: Iterable[str]) -> List[str]:
        """Return a command line whose secrets are masked: behind options that are named so, or known of a program, in ``NAME=VALUE``, headers and URLs."""
        told: List[str] = []
        program = ""
        is_awaited = False
        for one in argv:
            found = re.match(_LOGIN, program + " " + one) if program else None
            at = found.end() - len(program) - 1 if found else len(one)
            is_secret = is_awaited and not re.fullmatch(_SWITCH, one)
            told.append(self._mark(one) if is_secret else one[:at] + self._mark(one[at:]) if one[at:] else self._word(one))
            is_awaited = at == len(one) if found else one.startswith("-") and "=" not in one and is_secret_field(one)
            name = one.rpartition("/")[2]
            program = name if re.fullmatch("|".join(_LOGINS), name) else program
        return told

    def _word(self, one: str) -> str:
        name, mark, value = one.partition("=")
        if mark and re.fullmatch(r"[\w.-]+", name) and is_secret_field(name) and _is_secret(name, value):
            return name + mark + self._mark(value)
        return self.text(one)

    def keyed(self, text: str) -> Dict[str, Any]:
        """Return what is told of a secret: a digest under this host's key, or only that there is one where no key was given."""
        return {"keyed": "hmac-sha256:" + self._digest(text)} if self.key else {"masked": True}

    def line(self, json_line: str) -> str:
        """Return one line of ASCII-escaped JSON, still valid JSON, in which no known kind of secret stands."""
        return self.text(json_line)

    def text(self, text: str) -> str:
        """Return a text in which every known kind of secret is replaced by its mark. The same text gives the same marks; marks stay as they are."""
        low = text.lower()
        is_named = any(map(low.__contains__, _NAMES)) and re.search(_NAMED, text) is not None
        if not is_named and not any(map(low.__contains__, _MARKS)):
            return re.sub(USERINFO, self._userinfo, text) if "://" in text and "@" in text else text
        text = re.sub(USERINFO, self._userinfo, re.sub(_SHAPE, lambda found: self._mark(found.group()), text))
        text = re.sub(_AFTER, self._behind, text)
        return self._named(_OPTION, self._named(_PAIR, text)) if is_named else text

    def _named(self, pattern: str, text: str) -> str:
        """Mask what stands behind a secret's name: ``NAME=VALUE``, ``"NAME": "VALUE"``, ``NAME: VALUE``, ``--name VALUE``."""
        pieces: List[str] = []
        done = 0
        for found in re.finditer(pattern, text):
            if found.start() < done or not is_secret_field(found.group("name")):
                continue
            start, end = _value_behind(text, found)
            if _is_secret(found.group("name"), text[start:end]):
                quote = "" if found.group("open") else found.group("shut") or ""
                pieces += [text[done:start], quote, self._mark(text[start:end]), quote]
                done = end
        return "".join(pieces) + text[done:] if pieces else text

    def _userinfo(self, found: "re.Match[str]") -> str:
        scheme, user = found.groups()
        is_plain = ":" not in user and scheme.lower().endswith("ssh://")
        return scheme + (user if is_plain else self._mark(user)) + "@"

    def _behind(self, found: "re.Match[str]") -> str:
        kept, secret = [one for one in found.groups() if one is not None]
        return kept + self._mark(secret)

    def _mark(self, secret: str) -> str:
        return secret if secret.startswith(_MASKED) else "[secret hmac-sha256:%s]" % self._digest(secret) if self.key else "[masked]"

    def _digest(self, text: str) -> str:
        from hmac import new  # noqa: PLC0415  # who meets no secret need not load it

        return new(self.key, text.encode("utf-8", "backslashreplace"), "sha256").hexdigest()[:DIGITS]


def _value_behind(text: str, found: "re.Match[str]") -> Tuple[int, int]:
    """Return where the value behind a name starts and ends; the same place twice where there is no plain value."""
    start = found.end()
    if found.group("open"):
        return start, _closing(text, start, found.group("open"))
    scheme = re.compile(_SCHEME).match(text, start)
    start = scheme.end() if scheme else start
    bare = re.compile(_BARE).match(text, start)
    return start, bare.end() if bare else start


def _closing(text: str, start: int, opened: str) -> int:
    """Return where a quoted value ends. ``opened`` is its quote with the backslashes before it; a bare ``"`` always ends it, so that JSON stays JSON."""
    depth = len(opened) - 1
    for found in re.compile(_QUOTE).finditer(text, start):
        slashes, quote = len(found.group(1)), found.group(2)
        if quote == '"' and slashes % 2 == 0:
            return found.start() + (slashes if depth == 0 and opened == '"' else 0)
        if quote == opened[-1] and slashes == depth:
            return found.start()
    return len(text)


def _is_secret(name: str, value: str) -> bool:
    """Tell whether a text behind a secret's name is one: no mark, no switch or version; behind a mere ``key``, ``token`` or ``auth`` only if it is opaque."""
    if not value or value.startswith(_MASKED) or is_harmless(name, value):
        return False
    return name.strip("-").lower() not in ("key", "token", "auth") or re.match(_OPAQUE, value) is not None

"""Who hears of an audit: a webhook with a signed body, whatever apprise reaches, a metrics file, a push gateway. Each is bounded and fails by itself."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import http.client
import os
import secrets
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from driftwatch.fleet.errors import FleetError
from driftwatch.places import is_web_address

TIMEOUT_S = 10.0
SIGNATURE = "X-Driftwatch-Signature-256"
JOB = "driftwatch_audit"


def sign(body: bytes, key: bytes) -> str:
    """Return the signature of a body: ``sha256=`` and its HMAC-SHA256 in hex, as GitHub signs its webhooks."""
    return "sha256=" + hmac.new(key, body, hashlib.sha256).hexdigest()


def post_webhook(url: str, body: bytes, key: bytes | None) -> None:
    """Send a JSON body, signed where there is a key. Raises FleetError where it was not taken within 10 s."""
    headers = {"Content-Type": "application/json", **({SIGNATURE: sign(body, key)} if key else {})}
    _send("POST", url, body, headers)


def push_metrics(url: str, text: str) -> None:
    """Put the metrics on a push gateway, in place of those of the last audit. Raises FleetError where they were not taken within 10 s."""
    plain = "".join(line + "\n" for line in text.splitlines() if line != "# EOF" and not line.startswith("# UNIT"))  # the gateway reads Prometheus' own text
    _send("PUT", f"{url.rstrip('/')}/metrics/job/{JOB}", plain.encode(), {"Content-Type": "text/plain; version=0.0.4"})


def write_metrics(path: Path, text: str) -> None:
    """Write the metrics for node_exporter's textfile collector, whole or not at all. Raises FleetError where that fails."""
    temporary = path.parent / f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}"  # the collector reads *.prom only
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as failed:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise FleetError(f"the metrics were not written: {(failed.strerror or str(failed)).lower()}", str(path), "check the folder of metrics") from None


def notify(urls: Sequence[str], title: str, body: str) -> None:
    """Tell services through apprise. Raises FleetError where it is not installed, knows an address not, or a service did not take it."""
    try:
        import apprise  # noqa: PLC0415  # an extra, loaded only where it is asked for
    except ImportError:
        raise FleetError("alerts through apprise need it, and it is not installed", "alerts.apprise", "pip install 'driftwatch-gpu[alerts]'") from None
    teller = apprise.Apprise()
    for place, url in enumerate(urls, 1):
        if not teller.add(url):
            raise FleetError(f"apprise does not know the address number {place}", "alerts.apprise", "see apprise's own list of services")
    if not teller.notify(title=title, body=body):
        raise FleetError("a service did not take the alert", "alerts.apprise", "apprise -vv -b test URL   shows why")


def load_key(path: Path) -> bytes:
    """Return the key for signatures, without the line end. Raises FleetError where the file cannot be read, is empty, or others may read it."""
    try:
        if path.stat().st_mode & 0o077:
            raise FleetError("the webhook's key may be read by others", str(path), f"chmod 600 {path}")
        key = path.read_bytes().strip()
    except OSError as failed:
        raise FleetError(f"the webhook's key cannot be read: {(failed.strerror or str(failed)).lower()}", str(path)) from None
    if not key:
        raise FleetError("the webhook's key is empty", str(path), "openssl rand -hex 32   makes one")
    return key


class _Unfollowed(urllib.request.HTTPRedirectHandler):
    """Redirects are refused: a signed body goes where it was sent, and nowhere else."""

    def redirect_request(self, *_: object) -> None:
        """Follow nothing."""


def _send(method: str, url: str, body: bytes, headers: dict[str, str]) -> None:
    where = _place(url)
    request = urllib.request.Request(url, body, headers, method=method)  # noqa: S310  # the scheme was looked at
    try:
        with urllib.request.build_opener(_Unfollowed).open(request, timeout=TIMEOUT_S) as answer:
            answer.read(1024)
    except urllib.error.HTTPError as refused:
        raise FleetError(f"it answered {refused.code} {refused.reason}", where, "check its address and its rights") from None
    except (OSError, ValueError, http.client.HTTPException) as failed:
        raise FleetError(f"it could not be told: {getattr(failed, 'reason', failed)}", where, "check its address and that it runs") from None


def _place(url: str) -> str:
    """Return an address as it may be shown: without user, password, path and query, which may hold a token."""
    if not is_web_address(url):
        raise FleetError("the address is no http or https URL", do="https://HOST/PATH")
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")

"""Tells others of a night, as the config file says: metrics after each audit, alerts only where there is a finding. A failure is a note, and no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from driftwatch.cli.wiring.desk import Desk
from driftwatch.fleet import alerts
from driftwatch.fleet.errors import FleetError
from driftwatch.report.audit import openmetrics, text
from driftwatch.report.audit.json import render as render_json
from driftwatch.report.audit.night import Night


def announce(night: Night, desk: Desk) -> None:
    """Tell whoever the config file names."""
    for what, send in _messages(night, desk):
        _try(what, send, desk)


def _try(what: str, send: Callable[[], None], desk: Desk) -> None:
    try:
        send()
    except FleetError as failed:
        desk.say(f"note: {what}: {failed.what}" + (f" ({failed.where})" if failed.where else "") + (f"; {failed.do}" if failed.do else ""))


def _messages(night: Night, desk: Desk) -> list[tuple[str, Callable[[], None]]]:
    told, page = desk.settings.audit, replace(desk.page, color=False, width=100)
    found: list[tuple[str, Callable[[], None]]] = []
    if told.metrics is not None:
        found.append(("metrics", partial(alerts.write_metrics, told.metrics, openmetrics.render(night, page))))
    if told.push_gateway is not None:
        found.append(("push gateway", partial(alerts.push_metrics, told.push_gateway, openmetrics.render(night, page))))
    if night.exit_code and told.webhook is not None:
        found.append(("webhook", partial(_post, told.webhook, render_json(night, page).encode("ascii"), desk)))
    if night.exit_code and told.apprise:
        found.append(("alert", partial(alerts.notify, told.apprise, f"driftwatch audit: {night.word}", text.render(night, page))))
    return found


def _post(url: str, body: bytes, desk: Desk) -> None:
    secret = desk.settings.audit.webhook_secret
    alerts.post_webhook(url, body, None if secret is None else alerts.load_key(secret))

"""Takes one snapshot: ships the agent over a transport, folds its frames, and accounts for every probe whatever happened to the line."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from driftwatch.agent.probe import Refusal
from driftwatch.capture.bundle import bundle, payload, payload_here, sha256_of_sources
from driftwatch.capture.fold import Fold
from driftwatch.capture.known import Known, Recall, keys_of
from driftwatch.capture.plan import CaptureError, Plan
from driftwatch.model import Snapshot
from driftwatch.transports.local import LocalTransport
from driftwatch.transports.wire import LinkLost, Shipment

MARGIN_S = 3.0
LEAST_S = 1.0


class Transport(Protocol):
    """One way to reach a host."""

    def stream(self, shipment: Shipment, deadline_s: float) -> Iterator[dict[str, Any]]:
        """Yield the frames of the agent; raise LinkLost where they end before the end frame."""


@dataclass(frozen=True)
class Order:
    """What to ask and with which settings. Paths are paths on the host; ``key`` is the host's own redaction key, ``key_id`` names it.

    ``packages`` (modules; none: the agent's own list) and ``env_prefixes`` are the profile's; its name is kept where it is not the usual one ("").
    ``known`` are the source files that earlier snapshots of this host read (capture/known.py). ``view`` says from inside of what the host is seen.
    """

    plan: Plan
    deadline_s: float = 60.0
    pythons: tuple[str, ...] = ()
    source: str | None = None
    log: str | None = None
    env_from_pid: int | None = None
    also_show: tuple[str, ...] = ()
    agent_pythons: tuple[str, ...] = ()
    key: bytes = b""
    key_id: str = ""
    watch: Callable[[Mapping[str, Any]], None] | None = None
    packages: tuple[str, ...] = ()
    env_prefixes: tuple[str, ...] = ()
    profile: str = ""
    known: Known = field(default_factory=dict)
    view: Mapping[str, str] = field(default_factory=dict)


def take_snapshot(host: str, transport: Transport, order: Order, taken_at: str) -> Snapshot:
    """Return what was learnt of a host until its deadline. A host that cannot be reached gives a snapshot whose probes are all lost, with the reason."""
    return _take(host, transport, order, taken_at)


def take_recorded(path: str, order: Order) -> Snapshot:
    """Return the snapshot of a recorded host; its name and time are the recording's. Raises CaptureError where the path holds none."""
    from driftwatch.agent import recorded  # noqa: PLC0415  # only a replay pays for tarfile

    try:
        described = recorded.load(path).described
    except Refusal as refusal:
        raise CaptureError(str(refusal)) from None
    if described.get("unreachable"):
        return _unreachable(described, order)
    return _take(_text(described, "hostname"), LocalTransport(), order, _text(described, "taken_at"), recorded_at=path)


def _text(described: Mapping[str, Any], key: str) -> str:
    value = described.get(key)
    if not isinstance(value, str) or not value:
        raise CaptureError(f"host.json: {key!r} is missing or no text")
    return value


def _unreachable(described: Mapping[str, Any], order: Order) -> Snapshot:
    reason = f"unreachable when it was recorded: {described.get('error') or 'no reason was noted'}"
    return _build(_text(described, "hostname"), _text(described, "taken_at"), order, Fold(), reason, "recorded-host")


def _take(host: str, transport: Transport, order: Order, taken_at: str, *, recorded_at: str | None = None) -> Snapshot:
    is_here = isinstance(transport, LocalTransport)
    packed = payload_here if is_here else payload
    if not is_here:  # while the line is made
        threading.Thread(target=bundle, args=(_collectors(order.plan),), daemon=True).start()
    shipment = Shipment(secrets.token_hex(8), order.agent_pythons, lambda remaining_s: packed(_wire_order(order, remaining_s, recorded_at)))
    fold = Fold(recall=Recall(order.known))
    lost = "the agent ended without telling of it"
    frames = transport.stream(shipment, order.deadline_s)
    try:
        with contextlib.closing(frames):  # type: ignore[type-var]
            for frame in frames:
                fold.take(frame)
                if order.watch is not None:
                    order.watch(frame)
    except LinkLost as gone:
        lost = f"{gone.reason}: {gone.advice}" if gone.advice else gone.reason
    return _build(host, taken_at, order, fold, lost, "recorded-host" if recorded_at else "snapshot")


def _wire_order(order: Order, remaining_s: float, recorded_at: str | None) -> dict[str, Any]:
    return {
        "plan": [_planned(offer.probe, offer.module) for offer in order.plan.asked], "deadline_s": max(LEAST_S, remaining_s - MARGIN_S),
        "recorded": recorded_at, "key": order.key.hex(),
        "settings": {"pythons": list(order.pythons), "source": order.source, "log": order.log, "env_from_pid": order.env_from_pid,
                     "also_show": list(order.also_show), "env_prefixes": list(order.env_prefixes),
                     **({"packages": list(order.packages)} if order.packages else {}), **({"known": keys_of(order.known)} if order.known else {})},
    }


def _sha256_of_agent(plan: Plan, *, is_replay: bool) -> str:
    return sha256_of_sources(_collectors(plan), is_replay=is_replay)


def _collectors(plan: Plan) -> tuple[str, ...]:
    return tuple(sorted({offer.module for offer in plan.asked}))


def _planned(probe: Any, module: str) -> dict[str, Any]:
    return {"name": probe.name, "module": module, "deadline_s": probe.deadline_s, "early_term_s": probe.early_term_s, "cap_bytes": probe.cap_bytes,
            "needs_targets": probe.needs_targets}


def _build(host: str, taken_at: str, order: Order, fold: Fold, lost: str, source: str) -> Snapshot:  # noqa: PLR0913, PLR0917  # the parts of one value
    plan = order.plan
    agent: dict[str, Any] = {"sha256": _sha256_of_agent(plan, is_replay=source == "recorded-host"), "deadline_s": order.deadline_s}
    agent.update({key: fold.begin[key] for key in ("python", "uid") if key in fold.begin and source != "recorded-host"})
    every = [*(offer.probe for offer in plan.asked), *(probe for probe, _ in plan.left_out.values())]
    volatile = tuple(sorted({glob for probe in every for glob in probe.volatile}))
    extra = {**({"partial": True} if plan.is_partial else {}), **({"profile": order.profile} if order.profile else {}),
             **({"view": dict(order.view)} if order.view else {})}
    return Snapshot(
        host=host, taken_at=taken_at, source=source, agent=agent, targets=fold.targets, probes=fold.probes(plan, lost), volatile=volatile,
        facts=fold.facts, redaction={"key_id": order.key_id} if order.key_id else {}, extra=extra,
    )

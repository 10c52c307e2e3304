"""What SGLang takes for ``mem_fraction_static`` where nobody gives it: rules by release, as data, and the arithmetic. Reads no snapshot.

The card is the smallest of ALL GPUs of the host, by nvidia-smi's total in MiB, whatever CUDA_VISIBLE_DEVICES says. A release whose code was not read, or
an input that is not known, gives no number but an Unknown that says which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from driftwatch.explain.releases import Release, Span, around, found_in
from driftwatch.model import Unknown

GIB = 1024  # MiB
TEXT_ONLY = 1.0
LEAST_VISION, MOST_VISION = 0.76, 0.9975  # the factor of the largest and of the smallest tower
_NOT_TOLD = Unknown("not_recorded", "not told")
Told = TypeVar("Told")


class _Open(Exception):
    """An input that a rule needs is not known; holds the Unknown."""

    def __init__(self, why: Unknown) -> None:
        super().__init__(why.reason)
        self.why = why


@dataclass(frozen=True)
class Launch:
    """What the default depends on. None is what nobody gave, so that the release's own default stands; Unknown is what could not be read.

    ``vision`` is the factor of a model that sees, 1.0 for one of text alone; since 0.5.2 it goes by the size of its tower, before it was 0.95, then 0.90
    (0.4.6). ``piecewise_tokens`` are the sizes of prefill graphs: how many, and the largest; (0, 0) where such graphs are off.
    """

    gpu_mib: float | Unknown = _NOT_TOLD
    tp: int | Unknown = 1
    pp: int | Unknown = 1
    dp: int | Unknown = 1
    graph_bs: int | Unknown | None = None
    chunk: int | Unknown | None = None
    max_prefill: int | Unknown | None = 16384
    has_dp_attention: bool | Unknown = False
    speculative: str | Unknown | None = None
    piecewise_tokens: tuple[int, int] | Unknown = (0, 0)
    is_mla: bool | Unknown = field(default=_NOT_TOLD)
    has_deepep: bool | Unknown = False
    is_split: bool | Unknown = False
    is_post_capture: bool | Unknown = field(default=_NOT_TOLD)
    vision: float | Unknown = TEXT_ONLY


@dataclass(frozen=True)
class Reserve:
    """What the releases since 0.5.6 set aside differently: MiB for a draft model, MiB a prefill graph or per token of the largest, those of MLA, and more."""

    eagle_mib: int = 0
    standalone_mib: int = 0
    per_graph_mib: float = 0.0
    per_token_mib: float = 0.0
    mla_mib: int | None = None
    has_deepep: bool = False
    can_size_after_capture: bool = False
    without_card: float = 0.88


Rule = Callable[[Launch], float]


def default_fraction(release: Release | Unknown, launch: Launch) -> float | Unknown:
    """Return the fraction that a release takes by itself, or why that cannot be told.

    A release that was not read has a number where the rules of both its neighbours give the same one.
    """
    rule = found_in(_RULES, release)
    if not isinstance(rule, Unknown):
        return _follow(rule, launch)
    near = {_follow(one, launch) for one in around(_RULES, release)}
    return next(iter(near)) if len(near) == 1 else rule


def _follow(rule: Rule, launch: Launch) -> float | Unknown:
    try:
        return rule(launch)
    except _Open as open_:
        return open_.why


def usual_sizes(release: Release, gpu_mib: float, tp: int) -> tuple[int, int]:
    """Return the chunk of prefill and the largest graph batch that a release since 0.5.6 takes on such a card."""
    for most, chunk, few, many in _CARDS_NOW if release >= (0, 5, 23) else _CARDS:
        if gpu_mib < most:
            return chunk, few if tp < 4 else many
    return 16384, 512


def _need(value: Told | Unknown, what: str) -> Told:
    if isinstance(value, Unknown):
        raise _Open(Unknown(value.status, f"{what}: {value.reason}"))
    return value


def _card(launch: Launch) -> float:
    return _need(launch.gpu_mib, "the smallest card's memory")


def _ranks(launch: Launch) -> int:
    return _need(launch.tp, "tp_size") * _need(launch.pp, "pp_size")


def _of_card(launch: Launch, reserved: float) -> float:
    card = _card(launch)
    return round((card - reserved) / card, 3)


def _vision(launch: Launch) -> float:
    return _need(launch.vision, "the size of the model's vision tower, if it has one")


def _by_ranks(*steps: float) -> Rule:
    def rule(launch: Launch) -> float:
        tp = _need(launch.tp, "tp_size")
        found = next((step for least, step in zip((16, 8, 4, 2), steps, strict=False) if tp >= least), steps[-1])
        return found * (TEXT_ONLY if _vision(launch) == TEXT_ONLY else 0.95)

    return rule


def _card_or_ranks(launch: Launch) -> float:
    by_text = _by_ranks(0.79, 0.81, 0.85, 0.87, 0.88)
    small = _card(launch) <= 80 * GIB
    text = by_text(_as_text(launch)) if small else _of_card(launch, 13 * GIB)
    return text * (TEXT_ONLY if _vision(launch) == TEXT_ONLY else 0.90)


def _as_text(launch: Launch) -> Launch:
    return Launch(tp=launch.tp)


def _by_card(standalone_gib: int, vision: float | None) -> Rule:
    """Return the rule of the releases that looked at the card and at tp x pp; ``vision`` is a factor of its own, None for one by the tower's size."""

    def rule(launch: Launch) -> float:
        card, ranks = _card(launch), _ranks(launch)
        small, middle, large = 2.8 + ranks / 10, 9.5 + ranks / 2, 12 + ranks / 2
        reserved = small if card < 35 * GIB else middle if card < 90 * GIB else large if card < 160 * GIB else 32.0
        reserved += _draft(launch, standalone_gib, 2) + (4 if _need(launch.has_dp_attention, "enable_dp_attention") else 0)
        factor = _vision(launch)
        return _of_card(launch, reserved * GIB) * (factor if vision is None or factor == TEXT_ONLY else vision)

    return rule


def _draft(launch: Launch, standalone: int, other: int, free: str = "") -> int:
    """Return what a draft model is given, in the unit of the two figures; ``free`` names an algorithm without one."""
    algorithm = _need(launch.speculative, "speculative_algorithm")
    return 0 if algorithm is None or algorithm == free else standalone if algorithm == "STANDALONE" else other


def _by_parts(release: Release, reserve: Reserve) -> Rule:
    def rule(launch: Launch) -> float:
        if reserve.can_size_after_capture and _need(launch.is_post_capture, "whether the KV cache is sized again after the graphs were captured"):
            return _after_capture(launch)
        if reserve.has_deepep and _need(launch.is_split, "disaggregation_mode"):
            raise _Open(Unknown("not_recorded", "servers that only prefill or only decode reserve by another rule"))
        card = _card(launch)
        chunk, graph_bs = _sizes(release, launch)
        reserved = 512 + 1.5 * max(chunk, 2048) + 2 * graph_bs + GIB * _ranks(launch) / 8
        reserved += _dp_attention(launch, graph_bs) + _prefill_graphs(launch, reserve)
        reserved = max(reserved, 10 * GIB) if card > 60 * GIB else reserved
        reserved += _draft(launch, reserve.standalone_mib, reserve.eagle_mib, "NGRAM")
        reserved += 2 * GIB if reserve.has_deepep and _need(launch.has_deepep, "moe_a2a_backend") else 0
        return _of_card(launch, reserved) * _vision(launch)

    return rule


def _after_capture(launch: Launch) -> float:
    text = _of_card(launch, 1536 + GIB * _ranks(launch) / 8)
    return text if _vision(launch) == TEXT_ONLY else text - 8 * GIB / _card(launch)


def _sizes(release: Release, launch: Launch) -> tuple[int, int]:
    """Return the tokens of a prefill that count, and the largest graph batch: as given, or the release's own."""
    chunk, graph_bs = _need(launch.chunk, "chunked_prefill_size"), _need(launch.graph_bs, "cuda_graph_max_bs")
    usual = usual_sizes(release, _card(launch), _need(launch.tp, "tp_size")) if chunk is None or graph_bs is None else (0, 0)
    chunk = usual[0] if chunk is None else chunk
    return chunk if chunk > 0 else _need(launch.max_prefill, "max_prefill_tokens") or 0, usual[1] if graph_bs is None else graph_bs


def _dp_attention(launch: Launch, graph_bs: int) -> float:
    if not _need(launch.has_dp_attention, "enable_dp_attention"):
        return 0.0
    return graph_bs * _need(launch.dp, "dp_size") * (4.5 if graph_bs > 300 else 3)


def _prefill_graphs(launch: Launch, reserve: Reserve) -> float:
    """Return what piecewise graphs of prefill are given, in MiB. Where they are on by default, a model that sees has none."""
    many, largest = _need(launch.piecewise_tokens, "piecewise_cuda_graph_tokens")
    if not many or (reserve.mla_mib is not None and _vision(launch) != TEXT_ONLY):
        return 0.0
    if reserve.mla_mib is not None and _need(launch.is_mla, "whether the model's attention is MLA"):
        return reserve.mla_mib
    return many * reserve.per_graph_mib + largest * reserve.per_token_mib


# card under so many MiB: chunk of prefill, largest graph batch with tp under 4, and with more
_CARDS = ((20 * GIB, 2048, 8, 8), (35 * GIB, 2048, 24, 80), (60 * GIB, 4096, 32, 160), (160 * GIB, 8192, 256, 512))
_CARDS_NOW = ((20 * GIB, 2048, 8, 8), (35 * GIB, 4096, 48, 160), (60 * GIB, 4096, 32, 160), (160 * GIB, 8192, 256, 512))
_NOW = Reserve(per_graph_mib=8, mla_mib=1536, has_deepep=True, can_size_after_capture=True)
_RULES: tuple[Span[Rule], ...] = (
    Span((0, 3, 0), (0, 3, 0), _by_ranks(0.79, 0.83, 0.85, 0.87, 0.88)),
    Span((0, 4, 3), (0, 4, 3), _by_ranks(0.79, 0.81, 0.85, 0.87, 0.88)),
    Span((0, 4, 6), (0, 4, 6), _card_or_ranks),
    Span((0, 4, 9), (0, 4, 9), _by_card(2, 0.90)),
    Span((0, 5, 2), (0, 5, 2), _by_card(6, None)),
    Span((0, 5, 6), (0, 5, 6), _by_parts((0, 5, 6), Reserve(2 * GIB, 6 * GIB, per_token_mib=0.25))),
    Span((0, 5, 9), (0, 5, 9), _by_parts((0, 5, 9), Reserve(2 * GIB, 6 * GIB, per_graph_mib=8))),
    Span((0, 5, 10), (0, 5, 12), _by_parts((0, 5, 12), Reserve(4 * GIB, 6 * GIB, per_graph_mib=8, mla_mib=1536))),
    Span((0, 5, 15), (0, 5, 15), _by_parts((0, 5, 15), Reserve(per_graph_mib=8, mla_mib=1536, has_deepep=True))),
    Span((0, 5, 18), (0, 5, 20), _by_parts((0, 5, 18), _NOW)),
    Span((0, 5, 23), (0, 5, 23), _by_parts((0, 5, 23), _NOW)),
)

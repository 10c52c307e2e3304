"""The outlook of a server's memory as text, or as JSON. Only lays out; sizes are in GiB."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from driftwatch.explain.outlook import Figure, Outlook, Row
from driftwatch.explain.words import fixed, signed
from driftwatch.model import Unknown
from driftwatch.report.page import Page, measure, pad
from driftwatch.report.words import say_status

LABEL_COLUMNS = 19
VALUE_COLUMNS = 12


def as_text(outlooks: Sequence[Outlook], page: Page) -> str:
    """Return the outlooks one after the other, ending with a line feed."""
    blocks = ["\n".join(_block(one, page, is_named=len(outlooks) > 1)) for one in outlooks]
    return "\n\n".join(blocks) + "\n"


def _block(outlook: Outlook, page: Page, *, is_named: bool) -> list[str]:
    lines = [page.paint("head", page.say(outlook.server))] if is_named else []
    for figure in outlook.figures:
        lines += _figure(figure, page)
    if outlook.rows:
        lines += ["", page.paint("dim", f"  {'fraction':<9}  KV cache")]
        lines += [line for row in outlook.rows for line in _row(row, page)]
    for sentence in outlook.says:
        lines += ["", *page.wrap(sentence + ".", "", "")]
    return lines + (["", *page.command("look", outlook.settle, "", 0)] if outlook.settle else [])


def _figure(figure: Figure, page: Page) -> list[str]:
    if isinstance(figure.value, Unknown):
        return page.wrap(f"? {say_status(figure.value.status)}{': ' if figure.value.reason else ''}{figure.value.reason}",
                         pad(figure.label, LABEL_COLUMNS), " " * LABEL_COLUMNS)
    value = f"{fixed(figure.value)} {figure.unit}" if figure.unit else f"{round(figure.value, 3):g}"
    lead = pad(figure.label, LABEL_COLUMNS) + pad(page.say(value), VALUE_COLUMNS)
    return page.wrap(figure.remark, lead, " " * (LABEL_COLUMNS + VALUE_COLUMNS))


def _row(row: Row, page: Page) -> list[str]:
    tokens = f", about {_round(row.tokens):,} tokens" if row.tokens is not None else ""
    rest = page.say("0.00" if row.rest == 0 else signed(row.rest))
    lead, style = f"  {round(row.fraction, 3):<9g}  ", "bad" if row.rest < 0 else "good" if row.rest > 0 else "unknown"
    start = f"{lead}{' ' * (7 - measure(rest))}{rest} GiB   "
    first, *more = page.wrap(row.remark + tokens, start, " " * measure(start))
    return [f"{start[:-len(rest) - 7]}{page.paint(style, rest)}{first[len(start) - 7:]}", *more]


def _round(tokens: int) -> int:
    """Return a count of tokens with three digits that mean something."""
    unit = 10 ** max(0, len(str(tokens)) - 3)
    return int(round(tokens / unit) * unit)


def as_json(outlooks: Sequence[Outlook]) -> str:
    """Return the outlooks as a JSON list, sizes in GiB; an unknown figure as ``{"unknown": …, "reason": …}``."""
    return json.dumps([_document(one) for one in outlooks], indent=1) + "\n"


def _document(outlook: Outlook) -> dict[str, Any]:
    return {
        "ref": outlook.ref, "server": outlook.server, "release": outlook.release,
        "figures": {figure.label.replace(" ", "_"): {"value": _value(figure.value), "unit": figure.unit, "from": figure.remark} for figure in outlook.figures},
        "rows": [{"fraction": row.fraction, "kv_cache_gib": round(row.rest, 3), "remark": row.remark, "tokens": row.tokens} for row in outlook.rows],
        "says": list(outlook.says), "settle": outlook.settle, "exit_code": outlook.exit_code,
    }


def _value(value: float | Unknown) -> Any:
    return {"unknown": value.status, "reason": value.reason} if isinstance(value, Unknown) else round(value, 4)

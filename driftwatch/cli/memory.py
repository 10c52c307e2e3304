"""Works out what a server has left for its KV cache, and at other fractions; never touches the GPU."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.completing import complete_ref
from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.numbers import fraction, whole
from driftwatch.cli.wiring.outlooks import what_if
from driftwatch.cli.wiring.output import answer
from driftwatch.explain.outlook import look_ahead
from driftwatch.report.memory import as_json, as_text


def command(
    ctx: typer.Context,
    *,
    ref: Annotated[str, typer.Argument(metavar="REF", autocompletion=complete_ref, help="HOST@last, HOST@TAG, a path with a slash, or -.")],
    mem_fraction_static: Annotated[str | None, typer.Option("--mem-fraction-static", metavar="F", help="Work it out for this one too.")] = None,
    cuda_graph_max_bs: Annotated[str | None, typer.Option("--cuda-graph-max-bs", metavar="N", help="What this does to the default fraction.")] = None,
    log: Annotated[str | None, typer.Option("--log", metavar="FILE", help="The server's log, read here.")] = None,
) -> int:
    """Work out what SGLang has left for its KV cache, in GiB, from a snapshot's figures or a log: now, at other fractions, and where nothing is left."""
    desk = open_desk(ctx)
    other = None if mem_fraction_static is None else fraction("--mem-fraction-static", mem_fraction_static)
    graph_bs = None if cuda_graph_max_bs is None else whole("--cuda-graph-max-bs", cuda_graph_max_bs, 1, 1 << 20)
    outlooks = look_ahead(what_if(ref, log, (other, graph_bs), desk))
    answer(desk, as_json(outlooks) if desk.given.format == "json" else as_text(outlooks, desk.page))
    codes = {one.exit_code for one in outlooks}
    return 1 if 1 in codes else max(codes)

"""Where the shipped agent starts: reads its order, opens the root, and hands over to the runner."""
# ruff: noqa: E402  # what is imported before the loader was told so is compiled twice
from __future__ import annotations

import json
import os
import sys

from .unzipped import compile_once

compile_once(__loader__)  # type: ignore[name-defined]  # every module has one

from .host import Settings
from .redact import Redactor
from .runner import Planned, Runner, Work
from .typed import Any, Dict, NoReturn

NICENESS = 10


def main(nonce: str, order_text: bytes) -> NoReturn:
    """Run the order (JSON: plan, deadline_s, settings, key, recorded) and leave the process when it is done."""
    order = json.loads(order_text.decode("ascii"))
    settings = _settings(order["settings"])
    mask = Redactor(bytes.fromhex(order["key"]), settings.also_show, settings.env_prefixes)
    runner = Runner(nonce, [Planned(**one) for one in order["plan"]], Work(_root(order), settings, mask), order["deadline_s"])
    runner.emit({"frame": "begin", "python": "%s %s" % (sys.executable, sys.version.split()[0]), "uid": os.geteuid(), "pid": os.getpid()})
    try:
        os.nice(NICENESS)
    except OSError:
        pass
    runner.run()


def _settings(given: Dict[str, Any]) -> Settings:
    fields: Dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    return Settings(**fields)


def _root(order: Dict[str, Any]) -> Any:
    if order["recorded"] is not None:
        from .recorded import load  # noqa: PLC0415  # only a replay pays for tarfile and zipfile

        return load(order["recorded"])
    from .real import RealRoot  # noqa: PLC0415  # the other half of the same choice

    return RealRoot()

"""A site's own rules: every ``*.py`` of a folder that the user named, run as code. Nothing is loaded from a folder that nobody named."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.cli.wiring.named import is_folder
from driftwatch.explain.rule import Rule
from driftwatch.explain.rules_found import rules_of

ADVICE = "a rule file holds RULES = (Rule(...), ...), from driftwatch.explain.rule"


def load_folders(folders: Iterable[Path]) -> Iterator[Rule]:
    """Yield the rules of all files in these folders, by name. Raises UsageFault for a folder or file that cannot be loaded."""
    for folder in folders:
        if not is_folder(folder):
            raise UsageFault(f"{folder.name or folder} is no folder of rules", str(folder), ADVICE)
        for path in sorted(folder.glob("*.py")):
            yield from rules_of(_load(path), str(path))


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"driftwatch_site_rules.{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageFault(f"{path.name} cannot be loaded", str(path), ADVICE)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as wrong:
        raise UsageFault(f"{path.name} cannot be loaded: {type(wrong).__name__}: {wrong}", str(path), ADVICE) from wrong
    return module

"""What modules really give when the serving interpreter imports them, each in a child of its own. Takes a GPU context where the module does: only on demand.

| path | what |
|---|---|
| packages/NAME/imported_version | ``__version__`` as the import gave it; a text that is no str is told as its repr |
| packages/NAME/imported_file | ``__file__``; ``namespace: FOLDER`` where the module is a folder without ``__init__.py`` |

The child points its own output at /dev/null before the import and answers on a descriptor of its own with a mark, so that chatter, printed JSON,
``os._exit(0)`` and a crash are no answer.
"""
from __future__ import annotations

import json
import re

from ..dist_metadata import folders, listed, owners
from ..host import Host, Ran
from ..probe import Fact, NotRecorded, Probe, Unknown, Unreadable, fact_path
from ..typed import Any, Dict, Iterator, List

DEADLINE_S = 15.0
SCRIPT = """# import of %s
import fcntl, os, sys
name, mark = sys.argv[1:3]
del sys.argv[1:]
answer = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 200)
quiet = os.open(os.devnull, os.O_RDWR)
for one in (0, 1, 2):
    os.dup2(quiet, one)
told = {}
try:
    module = __import__(name)
    version, file = getattr(module, "__version__", None), getattr(module, "__file__", None)
    told["version"] = version if version is None or type(version) is str else repr(version)[:200]
    told["file"] = str(file) if file else "namespace: " + ", ".join(map(str, getattr(module, "__path__", ())))
except Exception as failed:
    told = {"failed": (type(failed).__name__ + ": " + str(failed))[:2000], "missing": isinstance(failed, ModuleNotFoundError) and failed.name == name}
import json
os.write(answer, (mark + json.dumps(told) + mark).encode())
os._exit(0)
"""


def collect(host: Host) -> Iterator[Fact]:
    """Yield what each module of ``settings.packages`` gave; one that is not there tells nothing."""
    if not host.targets:
        raise NotRecorded("no interpreter was found to look at")
    target = host.targets[0]
    sites, _ = listed(host, target.site_packages)
    names = owners(host, [one for site, found in sites for one in folders(site, found)], host.settings.packages)
    for module in host.settings.packages:
        yield from _module(host, target.python, module, names[module])


def _module(host: Host, python: str, module: str, names: List[str]) -> Iterator[Fact]:
    mark = "driftwatch-%016x:" % (hash((id(host), module, python)) & (1 << 64) - 1)
    argv = [python, "-I", "-c", SCRIPT % re.sub(r"[^\w.]", "", module), module, mark]
    ran = host.try_run(argv, DEADLINE_S)
    if isinstance(ran, Ran):
        told = host.attempt(parse_answer, module, mark, ran)
    elif isinstance(ran, Unknown):
        told = ran._replace(reason=ran.reason.replace(" ".join(argv), "%s: import %s" % (python, module)))
    else:
        told = Unknown("error", "%s: no such interpreter" % python)
    if isinstance(told, dict) and told.get("missing"):
        return
    for name in names:
        yield from _told(fact_path("packages", name), "import %s" % module, told)


def _told(top: str, question: str, told: Any) -> Iterator[Fact]:
    if isinstance(told, dict) and "failed" in told:
        told = Unknown("error", "%s: %s" % (question, told["failed"]))
    for key in ("version", "file"):
        value = told if isinstance(told, Unknown) else told[key]
        if value is not None:
            yield top + "/imported_" + key, value


def parse_answer(module: str, mark: str, ran: Ran) -> Dict[str, Any]:
    """Return what the child answered between its two marks; Unreadable where it ended without."""
    pieces = ran.stdout.split(mark)
    if len(pieces) < 3:
        how = "was ended by signal %d" % -ran.rc if ran.rc < 0 else "ended with exit code %d" % ran.rc
        raise Died("import %s: the interpreter %s without an answer" % (module, how))
    try:
        told = json.loads(pieces[1])
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise Unreadable("import %s: no answer: %r" % (module, pieces[1][:80]))
    return told


class Died(Unreadable):
    """The interpreter ended before it could answer."""

    status = "died"


PROBES = (Probe(
    "imports", collect, deadline_s=60.0, needs_targets=True, group="imports", cap_bytes=256 << 10,
    tells=("packages/*/imported_version", "packages/*/imported_file"),
    reads="what the packages that serve give when the interpreter imports them (takes a GPU context and many seconds)"),)

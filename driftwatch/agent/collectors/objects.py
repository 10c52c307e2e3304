"""The shared objects of the kernel packages and of PyTorch: what they need, what they expect of PyTorch, and for which GPUs they hold code.

Read from headers and tables: nothing is loaded, and device code is walked without reading it. Each file is asked in a child of its own; after one that
does not answer, the others of its distribution are not asked. DIST is the distribution whose RECORD names the file, PATH as RECORD writes it.

| path | what |
|---|---|
| objects/DIST/PATH/needed | list of the libraries that the loader looks for (DT_NEEDED), in order |
| objects/DIST/PATH/{soname, runpath} | the library's own name; where its libraries are looked for first (DT_RUNPATH, else DT_RPATH), unless it has none |
| objects/DIST/PATH/architectures | list such as ["sm_80", "sm_90", "compute_90"] (PTX); the ``a`` of sm_90a is not told apart; empty: no device code |
| objects/DIST/PATH/torch_symbols | names of c10, at and torch that it expects: {"count", "sha256" of all, "cxx11": those with the newer std::string, "some"} |
| objects/DIST/PATH/unresolved | those that neither PyTorch nor its own distribution defines: {"count", "some"}; not told where there are none |

Of PyTorch itself: ``needed``, ``soname``, ``runpath`` and ``architectures`` of torch/lib. A file that was cut, or is none, is unknown and says why.
"""
from __future__ import annotations

from ..dist_metadata import RECORD_BYTES, Folder, folders, joined, listed, natural, parse_record
from ..elf import SOME, architectures, defined, linked, of_torch, parse_image, summary, undefined
from ..host import Host
from ..probe import Fact, NotRecorded, Probe, Unknown, fact_path, refusal
from ..typed import Any, Dict, Iterator, List, NamedTuple, Optional, Regex, Sequence, Tuple

KERNELS = Regex(r"sgl-|sglang-kernel|flashinfer|flash-(attn|mla)|deep-(gemm|ep)|vllm|xformers|causal-conv1d|mamba-ssm|torchao|mooncake|nixl")
TORCH = "torch"
OF_TORCH = Regex(r"torch/lib/lib(?:c10|torch|shm)[^/]*\.so\Z")
VERSIONED = Regex(r"\.so(\.[0-9]+)*\Z")
MOST = 60
DEADLINE_S = 2.0


class Object(NamedTuple):
    """One shared object: where it lies, its facts' path, and what was found in it (Unknown, or None where it is gone)."""

    path: str
    top: str
    found: Any


def collect(host: Host) -> Iterator[Fact]:
    """Yield what each shared object says, PyTorch's first, and then which names nobody defines."""
    if not host.targets:
        raise NotRecorded("no interpreter was found to look at")
    sites, refused = listed(host, host.targets[0].site_packages)
    torch: List[Object] = []
    others: List[Tuple[str, List[Object]]] = []
    for one in sorted(_kernels(sites), key=lambda folder: folder.name != TORCH):
        told: List[Object] = []
        yield from _distribution(host, one, told)
        if one.name == TORCH:
            torch = torch or told
        else:
            others.append((one.name, told))
    for _, objects in others:
        yield from _unresolved(host, torch, objects)
    if refused or not sites:
        raise refusal(refused[0]) if refused else NotRecorded("no site-packages folder was found")


def _kernels(sites: Sequence[Tuple[str, List[str]]]) -> List[Folder]:
    """Return the distributions whose objects matter; of each name only the first folder that has it."""
    found: Dict[str, Tuple[str, List[Folder]]] = {}
    for site, names in sites:
        for one in folders(site, names):
            if one.name == TORCH or KERNELS.match(one.name):
                place, same = found.setdefault(one.name, (site, []))
                same += [one] if place == site else []
    return [max(same, key=lambda one: natural(one.version or "")) for _, same in found.values()]


def _distribution(host: Host, folder: Folder, told: List[Object]) -> Iterator[Fact]:
    """Yield the facts of one distribution's objects, and note each."""
    dist = fact_path("objects", folder.name)
    record = host.try_read(folder.path + "/RECORD", RECORD_BYTES) if folder.kind == "dist-info" else None
    if not isinstance(record, str):
        yield dist, record or Unknown("not_recorded", "%s: it has no RECORD that names its files" % folder.path)
        return
    site = folder.path.rpartition("/")[0]
    paths = _objects(record, is_torch=folder.name == TORCH)
    if len(paths) > MOST:
        yield dist, Unknown("error", "%d shared objects, %d of them were read" % (len(paths), MOST))
    silent: Optional[Unknown] = None
    question = _of_library if folder.name == TORCH else _of_kernel
    for path in paths[:MOST]:
        where = joined(site, path)
        found = silent or host.attempt(host.examine, where, question, DEADLINE_S)
        silent = found if isinstance(found, Unknown) and found.status == "timeout" else None
        told.append(Object(where, dist + "/" + fact_path(path), found))
        yield from _told(told[-1])


def _objects(record: str, *, is_torch: bool) -> List[str]:
    lines = "\n".join(line for line in record.splitlines() if ".so" in line)
    paths = sorted(entry.path for entry in parse_record(lines) if VERSIONED.search(entry.path))
    once = [path for path in paths if path.endswith(".so") or VERSIONED.sub(".so", path) not in paths]  # a wheel holds copies where links were
    return [path for path in once if OF_TORCH.match(path)] if is_torch else once


def _of_library(read: Any, size: int) -> Dict[str, Any]:
    image = parse_image(read, size)
    return dict(linked(read, image), architectures=architectures(read, image, size))


def _of_kernel(read: Any, size: int) -> Dict[str, Any]:
    expected = of_torch(undefined(read, parse_image(read, size)))
    return dict(_of_library(read, size), expected=[name.decode("ascii", "replace") for name in expected])


def _told(one: Object) -> Iterator[Fact]:
    if not isinstance(one.found, dict):
        if one.found is not None:
            yield one.top, one.found
        return
    for name, value in one.found.items():
        if name != "expected":
            yield one.top + "/" + name, value
        elif value:
            yield one.top + "/torch_symbols", summary([text.encode() for text in value])


def _unresolved(host: Host, torch: List[Object], objects: List[Object]) -> Iterator[Fact]:
    """Yield for each object of a distribution the names that nobody defines; unknown where one of those that may define them could not be asked."""
    expecting = [one for one in objects if isinstance(one.found, dict) and one.found.get("expected")]
    open_names = sorted({name for one in expecting for name in one.found["expected"]})
    if not expecting:
        return
    trouble: Optional[Unknown] = None if torch else Unknown("not_recorded", "PyTorch's own libraries were not found")
    for library in [*torch, *objects]:
        found = host.attempt(host.examine, library.path, _asked_for(open_names), DEADLINE_S) if isinstance(library.found, dict) else library.found
        trouble = found if isinstance(found, Unknown) else trouble
        open_names = [name for name in open_names if not isinstance(found, list) or name not in found]
    for one in expecting:
        names = [name for name in one.found["expected"] if name in open_names]
        if names:
            yield one.top + "/unresolved", trouble or {"count": len(names), "some": names[:SOME]}


def _asked_for(names: Sequence[str]) -> Any:
    """Return the question which of some names a library defines."""
    def question(read: Any, size: int) -> List[str]:
        return sorted(name.decode() for name in defined(read, parse_image(read, size), [name.encode() for name in names]))

    return question


PROBES = (Probe(
    "objects", collect, deadline_s=10.0, needs_targets=True, tells=("objects", "objects/*"),
    reads="headers, symbol tables and fat binary headers of the shared objects of PyTorch and of the kernel packages"),)

"""What ``nvidia-smi -q -x`` prints, as facts about GPUs. Pure: text in, values out.

Chosen by tag, never by the schema that the text names: drivers say v12 and still print v11's tags. ``N/A`` is "no such figure" and never zero, ``ERR!``
is no answer, and a text that ends inside a GPU gives the GPUs before it and says that it was cut.
"""
from __future__ import annotations

import re
from xml.etree import ElementTree as ET  # expat resolves no external entity, and the text is at most 1 MiB

from .gpus import Gpu, Process, pci_address, program_name
from .probe import Unknown, Unreadable
from .typed import Any, Callable, Dict, List, NamedTuple, Optional, Regex, Tuple

QUERY = ["nvidia-smi", "-q", "-x"]
END = "</nvidia_smi_log>"
SILENT = frozenset(("", "N/A", "[N/A]", "Not Supported", "[Not Supported]", "Requested functionality has been deprecated"))
FAILED = Regex(r"\[?(ERR!|Unknown Error|GPU is lost|GPU requires reset)\]?$")


class Query(NamedTuple):
    """A text: driver, CUDA version and number of attached GPUs as its head tells them, the whole GPUs, lines around it, how it was cut ("" if not)."""

    driver: Optional[str]
    cuda: Optional[str]
    attached: Optional[int]
    gpus: Tuple[Gpu, ...]
    said: Tuple[str, ...]
    cut: str


def parse_query(text: str) -> Query:
    """Return what the text of ``nvidia-smi -q -x`` holds. Raises Unreadable where it is no such text at all."""
    start = text.find("<nvidia_smi_log")
    if start < 0:
        raise Unreadable("nvidia-smi -q -x: no nvidia_smi_log in %r" % text[:200])
    end = text.find(END)
    body = text[start:] if end < 0 else text[start:end + len(END)]
    head, elements, cut = _elements(body)
    count = _whole(head.get("attached_gpus"))
    gpus = tuple(_gpu(element, position) for position, element in enumerate(elements))
    around = text[:start] + ("" if end < 0 else text[end + len(END):])
    said = tuple(line.strip() for line in around.splitlines() if line.strip() and not line.startswith("<"))
    if cut:
        cut = "nvidia-smi -q -x: truncated: %s inside GPU %d of %s" % (cut, len(gpus) + 1, count or "an unknown number")
    return Query(head.get("driver_version"), head.get("cuda_version"), count, gpus, said, cut)


def _elements(body: str) -> Tuple[Dict[str, str], List[ET.Element], str]:
    """Return the head's texts by tag, the GPUs that came whole, and how the text ended before its end ("" if it did not)."""
    parser: Any = ET.XMLPullParser(["start", "end"])
    parser.feed(_tidy(body))
    head: Dict[str, str] = {}
    gpus: List[ET.Element] = []
    depth = 0
    try:
        for event, element in parser.read_events():
            depth += 1 if event == "start" else -1
            if event == "end" and depth == 1 and element.tag == "gpu":
                gpus.append(element)
            elif event == "end" and depth == 1:
                head[element.tag] = (element.text or "").strip()
            elif event == "end" and depth == 0:
                return head, gpus, ""
    except ET.ParseError as wrong:
        return head, gpus, "it is malformed (%s)" % wrong
    return head, gpus, "it ends"


def _tidy(body: str) -> bytes:
    """Return the text without what no XML may hold: control characters and bare ampersands come in with process names."""
    bare = re.sub(r"&(?!#?\w+;)", "&amp;", re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", "?", body))
    return bare.encode("utf-8", "replace")


def _gpu(element: ET.Element, position: int) -> Gpu:
    uuid = _text(element, "uuid")
    pci = pci_address(str(element.get("id") or _text(element, "pci/pci_bus_id") or "")) or None
    used = _number(element, ("fb_memory_usage/used",))
    facts = [("pci", pci), ("index", position), ("memory_api", "nvidia-smi" if isinstance(used, int) else None)]
    facts += [(path, convert(element, tags)) for path, tags, convert in FIELDS]
    known = tuple((path, value) for path, value in facts if value is not None)
    return Gpu(uuid if isinstance(uuid, str) else "index-%d" % position, pci, known, used, _processes(element))


def _text(element: ET.Element, *tags: str) -> Any:
    """Return the text of the first of some tags that is there: None where it holds no figure, Unknown where the driver failed to tell it."""
    for tag in tags:
        text = (element.findtext(tag) or "").strip()
        if FAILED.match(text):
            return Unknown("error", "nvidia-smi -q -x: %s for %s" % (text, tag))
        if "Insufficient Permissions" in text:
            return Unknown("denied", "nvidia-smi -q -x: %s for %s" % (text, tag))
        if text not in SILENT:
            return text
    return None


def _word(element: ET.Element, tags: Tuple[str, ...]) -> Any:
    return _text(element, *tags)


def _first(element: ET.Element, tags: Tuple[str, ...]) -> Any:
    text = _text(element, *tags)
    return text.split(" ")[0] if isinstance(text, str) else text


def _number(element: ET.Element, tags: Tuple[str, ...]) -> Any:
    """Return the number that a figure such as ``97887 MiB`` or ``16x`` begins with."""
    text = _text(element, *tags)
    if not isinstance(text, str):
        return text
    match = re.match(r"-?\d+(\.\d+)?", text)
    if match is None:
        return Unknown("error", "nvidia-smi -q -x: no number in %r for %s" % (text[:40], tags[0]))
    return float(match.group()) if match.group(1) else int(match.group())


def _watts(element: ET.Element, tags: Tuple[str, ...]) -> Any:
    number = _number(element, tags)
    return number if number is None or isinstance(number, Unknown) else float(number)


def _yes(element: ET.Element, tags: Tuple[str, ...]) -> Any:
    text = _text(element, *tags)
    return text == "Yes" if text in ("Yes", "No") else text


def _sum(element: ET.Element, tags: Tuple[str, ...]) -> Any:
    """Return the sum of the counts below the first tag whose own tags hold the second; a total where older drivers print one."""
    top, word, total = tags
    if element.find(top + "/" + total) is not None:
        return _number(element, (top + "/" + total,))
    named = [child.tag for child in element.findall(top + "/*") if re.search(r"_%s(_|$)" % word, child.tag)]
    counts = [_number(element, (top + "/" + tag,)) for tag in named]
    unknown = [count for count in counts if isinstance(count, Unknown)]
    told = [count for count in counts if count is not None]
    return unknown[0] if unknown else sum(told) if told else None


def _reasons(element: ET.Element, tags: Tuple[str, ...]) -> Any:
    """Return the sorted names of the reasons that are active, without the prefix that changed between drivers; None where none is told."""
    found = next((one for one in map(element.find, tags) if one is not None), None)
    if found is None or not len(found):
        return None
    return sorted(re.sub(r"^clocks_(event|throttle)_reasons?_", "", child.tag) for child in found if (child.text or "").strip() == "Active")


def _devices(element: ET.Element, tags: Tuple[str, ...]) -> Any:
    return len(element.findall(tags[1])) if _text(element, tags[0]) == "Enabled" else None


def _clocks(top: str, below: str) -> Tuple[Tuple[str, Tuple[str, ...], Any], ...]:
    pairs = (("graphics", "graphics_clock"), ("sm", "sm_clock"), ("memory", "mem_clock"), ("video", "video_clock"))
    return tuple(("%s/%s_mhz" % (below, name), ("%s/%s" % (top, tag),), _number) for name, tag in pairs)


FIELDS: Tuple[Tuple[str, Tuple[str, ...], Callable[[ET.Element, Tuple[str, ...]], Any]], ...] = (
    ("name", ("product_name",), _word),
    ("memory_total_mib", ("fb_memory_usage/total",), _number),
    ("memory_used_mib", ("fb_memory_usage/used",), _number),
    ("memory_free_mib", ("fb_memory_usage/free",), _number),
    ("memory_reserved_mib", ("fb_memory_usage/reserved",), _number),
    ("pstate", ("performance_state",), _word),
    *_clocks("clocks", "clocks"),
    *_clocks("max_clocks", "clocks_max"),
    ("power_limit_w", ("gpu_power_readings/current_power_limit", "power_readings/enforced_power_limit"), _watts),
    ("power_limit_requested_w", ("gpu_power_readings/requested_power_limit", "power_readings/power_limit"), _watts),
    ("power_limit_default_w", ("gpu_power_readings/default_power_limit", "power_readings/default_power_limit"), _watts),
    ("power_draw_w", ("gpu_power_readings/average_power_draw", "gpu_power_readings/power_draw", "power_readings/power_draw",
                      "gpu_power_readings/instant_power_draw"), _watts),
    ("temperature_c", ("temperature/gpu_temp",), _number),
    ("utilization_percent", ("utilization/gpu_util",), _number),
    ("event_reasons", ("clocks_event_reasons", "clocks_throttle_reasons"), _reasons),
    ("ecc/current", ("ecc_mode/current_ecc",), _word),
    ("ecc/pending", ("ecc_mode/pending_ecc",), _word),
    ("ecc/volatile_corrected", ("ecc_errors/volatile", "correctable", "single_bit/total"), _sum),
    ("ecc/volatile_uncorrected", ("ecc_errors/volatile", "uncorrectable", "double_bit/total"), _sum),
    ("ecc/aggregate_corrected", ("ecc_errors/aggregate", "correctable", "single_bit/total"), _sum),
    ("ecc/aggregate_uncorrected", ("ecc_errors/aggregate", "uncorrectable", "double_bit/total"), _sum),
    ("remapped_rows/corrected", ("remapped_rows/remapped_row_corr",), _number),
    ("remapped_rows/uncorrected", ("remapped_rows/remapped_row_unc",), _number),
    ("remapped_rows/pending", ("remapped_rows/remapped_row_pending",), _yes),
    ("remapped_rows/failed", ("remapped_rows/remapped_row_failure",), _yes),
    ("mig/current", ("mig_mode/current_mig",), _word),
    ("mig/pending", ("mig_mode/pending_mig",), _word),
    ("mig/devices", ("mig_mode/current_mig", "mig_devices/mig_device"), _devices),
    ("persistence", ("persistence_mode",), _word),
    ("compute_mode", ("compute_mode",), _word),
    ("compute_capability", ("compute_capability", "compute_cap"), _word),
    ("vbios", ("vbios_version",), _word),
    ("license", ("vgpu_software_licensed_product/license_status",), _first),
    ("link/generation", ("pci/pci_gpu_link_info/pcie_gen/current_link_gen",), _number),
    ("link/generation_max", ("pci/pci_gpu_link_info/pcie_gen/max_link_gen",), _number),
    ("link/width", ("pci/pci_gpu_link_info/link_widths/current_link_width",), _number),
    ("link/width_max", ("pci/pci_gpu_link_info/link_widths/max_link_width",), _number),
)


def _processes(element: ET.Element) -> Any:
    """Return the processes, None where the driver prints no list, Unknown where it failed to."""
    listed = element.find("processes")
    if listed is None:
        return Unknown("not_recorded", "nvidia-smi -q -x: this driver prints no processes")
    if not len(listed) and (listed.text or "").strip():
        said = _text(element, "processes")
        return said if isinstance(said, Unknown) else None
    return tuple(_process(one) for one in listed.findall("process_info"))


def _process(element: ET.Element) -> Process:
    size = _number(element, ("used_memory",))
    return Process(int(_text(element, "pid") or 0), size if isinstance(size, int) else None, program_name(element.findtext("process_name") or ""))


def _whole(text: Optional[str]) -> Optional[int]:
    return int(text) if text is not None and text.isdigit() else None

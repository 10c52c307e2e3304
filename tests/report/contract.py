"""The promises of docs/explanation.md as a function: what in a JSON explanation breaks them. Written apart from the code that prints it."""

import json
import math
import re

KINDS = {
    "package", "file", "git", "python", "env-var", "launch-arg", "cache", "library", "driver", "kernel", "kernel-module", "service", "container", "gpu",
    "gpu-memory", "gpu-process", "pcie-link", "power-clock", "ecc", "mig", "topology", "nccl", "network", "limit", "host-memory", "disk", "mount", "firmware",
    "probe",
}
SOURCES = {
    "snapshot", "recorded-host", "sglang-check-env", "torch-collect-env", "vllm-collect-env", "pip-list", "pip-freeze", "pip-inspect", "conda-list",
    "uv-pip-list", "nvidia-smi", "flashinfer-collect-env", "transformers-env", "env", "server-log", "transcript", "nvidia-bug-report", "docker-inspect",
}
PATH_KINDS = {"file", "cache", "library", "git", "python", "mount", "disk"}
UNANSWERED = {"denied", "timeout", "error", "died", "lost", "not_recorded"}
SYMPTOMS = {None, "oom", "startup-crash", "import-error", "runtime-crash", "hang", "slow", "wrong-output", "accuracy", "device-lost"}
WORDS = {"LIKELY", "SEVERAL", "DRIFT", "SAME", "UNKNOWN"}
LABELS = {"confirm", "look", "try", "undo", "retry"}
TOP = ("format", "good", "bad", "symptom", "verdict_word", "verdict", "suspects", "ruled_out", "not_checked", "changes")


def strict(text):
    """Return the value of JSON text; a key twice, NaN and the like, or a byte beyond ASCII is a ValueError."""
    def once(pairs):
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError(f"a key stands twice among {[key for key, _ in pairs]}")
        return found

    def refuse(constant):
        raise ValueError(f"{constant} is no JSON value")

    return json.loads(text.encode("ascii").decode("ascii"), object_pairs_hook=once, parse_constant=refuse)


def broken(document):
    """Return sentences on what breaks the contract; none where it holds."""
    found = [f"{key} is missing" for key in TOP if key not in document]
    if found:
        return found
    found += [] if document["format"] == 1 and type(document["format"]) is int else ["format is not 1"]
    found += [] if document["verdict_word"] in WORDS else ["the verdict word is none"]
    found += [] if is_text(document["verdict"]) and "\n" not in document["verdict"] else ["the verdict is not one line"]
    found += [*side_faults(document["good"]), *side_faults(document["bad"]), *symptom_faults(document["symptom"])]
    found += [*suspect_faults(document["suspects"]), *change_faults(document["changes"]), *place_faults(document)]
    unknown = {change["path"] for change in document["changes"] if change["class"] == "unknown"}
    for one in document["ruled_out"]:
        found += subject_faults(one["subject"])
        found += [] if is_text(one["because"]) else ["ruled out without a proof"]
        found += [f"ruled out on an unknown fact: {path}" for path in one["facts"] if path in unknown]
    for one in document["not_checked"]:
        found += subject_faults(one["subject"])
        found += [] if one["status"] in UNANSWERED and one["side"] in ("good", "bad", "both") else [f"not checked: {one}"]
        found += [] if is_text(one["reason"]) and isinstance(one["settle"], str) and isinstance(one["matters"], bool) else [f"not checked: {one}"]
    return found


def is_text(value):
    return isinstance(value, str) and value.strip() != ""


def is_term(term):
    return is_text(term["says"]) and isinstance(term["weight"], int | float) and isinstance(term["facts"], list)


def side_faults(side):
    time = side["taken_at"]
    if side["source"] not in SOURCES:
        yield f"source {side['source']!r}"
    if time is not None and not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", time):
        yield f"taken_at {time!r}"
    if side["id"] is not None and not side["id"].startswith("sha256:"):
        yield f"id {side['id']!r}"
    if not isinstance(side["host"], str | None):
        yield f"host {side['host']!r}"


def symptom_faults(symptom):
    if symptom is not None and (symptom["class"] not in SYMPTOMS or "signature" not in symptom or "from" not in symptom):
        yield f"symptom {symptom}"


def subject_faults(subject):
    kind, name = subject["kind"], subject["name"]
    if kind not in KINDS:
        yield f"kind {kind!r}"
    if not is_text(name):
        yield "a subject has no name"
    if kind == "package" and name != re.sub(r"[-_.]+", "-", name).lower():
        yield f"{name} is not canonical"
    if len(name) > 120 and not (kind in PATH_KINDS and re.fullmatch(r"~?/\S+", name)):
        yield f"a name of {len(name)} characters"


def suspect_faults(suspects):
    last = math.inf
    for rank, one in enumerate(suspects, 1):
        yield from subject_faults(one["subject"])
        if one["rank"] != rank or not 0 <= one["confidence"] <= last:
            yield f"rank {one['rank']} with confidence {one['confidence']} after {last}"
        last = one["confidence"]
        if not one["because"] or not all(map(is_term, one["because"])):
            yield f"suspect {rank} has no evidence"
        if "good" not in one["change"] or "bad" not in one["change"] or not isinstance(one["confirm"], str) or not isinstance(one["undo"], str):
            yield f"suspect {rank} lacks a key"
        if not all(command["label"] in LABELS and is_text(command["run"]) for command in one["commands"]):
            yield f"suspect {rank} has a command without a label"


def change_faults(changes):
    for one in changes:
        is_open = [isinstance(one.get(key), dict) and "unknown" in one[key] for key in ("good", "bad")]
        if one["class"] not in ("changed", "added", "removed", "unknown") or not is_text(one["path"]):
            yield f"change {one}"
        if any(is_open) != (one["class"] == "unknown"):
            yield f"{one['path']}: class {one['class']} does not go with its sides"
        if one["class"] == "changed" and one["good"] == one["bad"]:
            yield f"{one['path']}: changed, but equal"
        if "follows" in one and not one["folded"]:
            yield f"{one['path']}: follows, but is not folded"


def place_faults(document):
    places = {}
    for name in ("suspects", "ruled_out", "not_checked"):
        for one in document[name]:
            places.setdefault((one["subject"]["kind"], one["subject"]["name"]), []).append(name)
    for subject, names in places.items():
        if len(set(names)) > 1 or names.count("suspects") > 1:
            yield f"{subject} stands under {names}"

"""Whatever bytes come, there is an answer: facts, a status with a reason, or a refusal. Never another exception, and never an answer made of nothing."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftwatch.agent.host import Ran
from driftwatch.agent.probe import Refusal
from driftwatch.agent.redact import Redactor
from driftwatch.cli.wiring.dumped import snapshot_of
from driftwatch.dumps.read import formats
from driftwatch.log_stream import condense
from driftwatch.model import Snapshot
from driftwatch.store import document
from driftwatch.store.errors import StoreError
from driftwatch.symptom import classify
from driftwatch.transports.wire import FrameReader, LinkLost
from fuzz.targets import agent_parsers
from tests.properties.anything import CALM, texts

BYTES = st.one_of(st.binary(max_size=300), texts().map(lambda text: text.encode("utf-8", "surrogatepass")))
GIVEN = {
    "text": texts(), "data": BYTES, "names": st.lists(texts(4), max_size=4), "texts": st.lists(texts(10), max_size=3), "cgroup": texts(), "mounts": texts(),
    "images": texts(), "ref": texts(3), "path": st.just("/a"), "name": st.just("sglang"), "module": st.just("torch"), "mark": st.just("m"),
    "framework": st.sampled_from(("sglang", "vllm")), "arguments": st.lists(texts(3), max_size=6), "is_docker": st.booleans(), "is_podman": st.booleans(),
    "count": st.integers(0, 4), "mask": st.builds(Redactor), "ran": st.builds(Ran, st.integers(0, 2), texts(), texts(4)),
}


PARSERS = {name: function for name, function in agent_parsers().items() if set(inspect.signature(function).parameters) <= set(GIVEN)}


def test_most_of_the_agents_parsers_are_tried():
    assert len(PARSERS) > 80


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_a_parser_of_the_agent_understands_a_text_or_refuses_it(name):
    function = PARSERS[name]

    @CALM
    @given(st.fixed_dictionaries({parameter: GIVEN[parameter] for parameter in inspect.signature(function).parameters}))
    def run(values):
        try:
            found = function(**values)
            if inspect.isgenerator(found):
                list(found)
        except (Refusal, ValueError):
            return

    run()


@CALM
@given(BYTES)
def test_bytes_are_a_snapshot_a_dump_or_refused(data):
    assert is_answered(data)


@pytest.mark.parametrize("kind", [one.name for one in formats()])
def test_a_text_that_is_read_as_a_dump_of_a_kind_is_one_or_is_refused(kind):
    @CALM
    @given(texts())
    def run(text):
        assert is_answered(text.encode("utf-8", "surrogatepass"), kind)

    run()


@CALM
@given(BYTES)
def test_bytes_are_a_stored_snapshot_or_refused(data):
    with pytest.raises(StoreError):
        document.parse(data, "any.json")


@CALM
@given(st.lists(BYTES, max_size=6))
def test_a_line_of_bytes_gives_frames_and_noise_that_add_up(pieces):
    reader = FrameReader("n0")
    whole = b"".join(pieces)
    frames = [frame for piece in pieces for frame in _fed(reader, piece)]
    assert all(isinstance(frame, dict) for frame in frames)
    assert reader.noise_bytes <= len(whole)


@CALM
@given(st.lists(BYTES, min_size=1, max_size=4), st.integers(1, 40))
def test_frames_are_found_whole_however_the_line_is_cut_and_whatever_stands_between(noise, step):
    line = b"".join(piece.replace(b"\x1e", b"") + b'\n\x1eDW1 n0 {"frame": "x"}\n' for piece in noise)
    reader = FrameReader("n0")
    frames = [frame for start in range(0, len(line), step) for frame in _fed(reader, line[start : start + step])]
    assert len(frames) == len(noise)


@CALM
@given(st.lists(BYTES, max_size=6))
def test_any_log_has_a_symptom_or_none(pieces):
    found = classify(condense(pieces).text)
    assert found is None or found.klass or found.signature


def is_answered(data, kind=None):
    """Tell whether bytes were read as a snapshot, or refused with a sentence."""
    try:
        return isinstance(snapshot_of(data, "any.txt", kind), Snapshot)
    except StoreError as refused:
        return bool(str(refused))


def _fed(reader, piece):
    try:
        return reader.feed(piece)
    except LinkLost:
        return []

"""Servers and resolvers that fail at once, or are asked with no time left; those that hang are rows of the stall table."""

from __future__ import annotations

import time

import pytest

from driftwatch.transports import resolving
from driftwatch.transports.destination import Destination, Options
from driftwatch.transports.wire import LinkLost
from tests.transports.dead_servers import hangs_up, listening
from tests.transports.listen import listen, own_children
from tests.transports.payload import shipment


def test_a_connection_that_is_closed_in_the_greeting_is_told(way, tmp_path):
    with listening(hangs_up) as port:
        transport = way(Destination(way.SCHEME, "127.0.0.1", "nobody", port), Options(ssh_config="/dev/null", known_hosts=str(tmp_path / "known")))
        assert f"127.0.0.1 port {port} closed the connection" in listen(transport, shipment("answer"), 2).said


def test_a_name_server_is_given_no_more_time_than_there_is():
    before, began = own_children(), time.monotonic()
    with pytest.raises(LinkLost, match="was not resolved in 0 s"):
        resolving.addresses("gpu-a.example.invalid", 22, 0.0)
    assert time.monotonic() - began < 1
    assert own_children() == before


def test_an_address_is_not_asked_for():
    assert resolving.addresses("10.0.0.1", 22, 0) == [("10.0.0.1", 22)]
    assert resolving.addresses("fe80::1", 22, 0) == [("fe80::1", 22)]

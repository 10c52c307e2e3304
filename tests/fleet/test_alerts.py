"""Who hears of an audit, on real servers of the loopback: what arrives, what is signed, and what is said where it did not arrive."""

from __future__ import annotations

import hashlib
import hmac
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from driftwatch.fleet import alerts
from driftwatch.fleet.errors import FleetError
from tests.lab.sshd import free_port


@contextmanager
def listening(status=200, headers=()):
    """Serve on loopback, and yield the port and the list of what arrived."""
    arrived = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            arrived.append((self.command, self.path, dict(self.headers), self.rfile.read(int(self.headers.get("Content-Length", 0)))))
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()

        do_POST = do_PUT = do_GET = answer  # noqa: N815  # the names that http.server calls

        def log_message(self, *_):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], arrived
        server.shutdown()


def test_a_webhook_gets_the_body_with_a_signature_that_its_key_verifies():
    with listening() as (port, arrived):
        alerts.post_webhook(f"http://127.0.0.1:{port}/hook?token=x", b'{"word": "DRIFT"}', b"key")
    ((method, path, headers, body),) = arrived
    assert (method, path, body) == ("POST", "/hook?token=x", b'{"word": "DRIFT"}')
    assert headers[alerts.SIGNATURE] == "sha256=" + hmac.new(b"key", body, hashlib.sha256).hexdigest()


def test_metrics_are_put_in_place_of_the_last_ones_in_the_gateways_own_format():
    with listening() as (port, arrived):
        alerts.push_metrics(f"http://127.0.0.1:{port}/", "# TYPE a gauge\na 1\n# EOF\n")
    assert [(one[0], one[1], one[3]) for one in arrived] == [("PUT", "/metrics/job/driftwatch_audit", b"# TYPE a gauge\na 1\n")]


def test_a_redirect_is_not_followed():
    with listening() as (aim, arrived), listening(302, [("Location", f"http://127.0.0.1:{aim}/")]) as (port, _), pytest.raises(FleetError, match="302"):
        alerts.post_webhook(f"http://127.0.0.1:{port}/", b"{}", None)
    assert arrived == []


@pytest.mark.parametrize("status", [403, 500])
def test_a_refusal_is_told_without_what_the_address_may_hide(status):
    with listening(status) as (port, _), pytest.raises(FleetError) as refused:
        alerts.post_webhook(f"http://user:secret@127.0.0.1:{port}/hook/secret?token=secret", b"{}", None)
    assert "secret" not in f"{refused.value.what}{refused.value.where}{refused.value.do}"


def test_a_port_on_which_nobody_listens_is_told():
    with pytest.raises(FleetError, match="could not be told"):
        alerts.post_webhook(f"http://127.0.0.1:{free_port()}/", b"{}", None)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://h/x", "no address", "http://", "https://h:abc/x", "https://[::1/x", "http://h:99999"])
def test_only_http_and_https_are_spoken(url):
    with pytest.raises(FleetError):
        alerts.post_webhook(url, b"{}", None)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # apprise's own, at its import
def test_apprise_tells_a_service():
    with listening() as (port, arrived):
        alerts.notify([f"json://127.0.0.1:{port}/"], "driftwatch audit: DRIFT", "1 host differs")
    assert b"1 host differs" in arrived[0][3]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # apprise's own, at its import
def test_an_address_that_apprise_does_not_know_is_told_by_its_place_and_not_by_its_text():
    with pytest.raises(FleetError, match="number 1") as refused:
        alerts.notify(["nosuch://secret@h"], "t", "b")
    assert "secret" not in str(refused.value)


def test_metrics_are_written_whole_and_readable_by_the_collector(tmp_path):
    alerts.write_metrics(tmp_path / "driftwatch.prom", "a 1\n")
    found = tmp_path / "driftwatch.prom"
    assert (found.read_text(encoding="utf-8"), found.stat().st_mode & 0o777, len(list(tmp_path.iterdir()))) == ("a 1\n", 0o644, 1)


def test_metrics_that_cannot_be_written_leave_nothing(tmp_path):
    (tmp_path / "driftwatch.prom").mkdir()
    with pytest.raises(FleetError, match="not written"):
        alerts.write_metrics(tmp_path / "driftwatch.prom", "a 1\n")
    assert [one.name for one in tmp_path.iterdir()] == ["driftwatch.prom"]


def test_metrics_in_a_folder_that_is_a_file_are_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FleetError, match="not written"):
        alerts.write_metrics(tmp_path / "file" / "driftwatch.prom", "a 1\n")


@pytest.mark.parametrize(("mode", "text"), [(0o644, b"key"), (0o600, b"\n")])
def test_a_key_that_others_may_read_or_that_is_empty_is_refused(tmp_path, mode, text):
    path = tmp_path / "key"
    path.write_bytes(text)
    path.chmod(mode)
    with pytest.raises(FleetError):
        alerts.load_key(path)

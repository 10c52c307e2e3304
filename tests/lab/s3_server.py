"""An S3 of our own on loopback (moto's server in a process of its own), and a line to it that fails on purpose. Ends what it starts."""

from __future__ import annotations

import http.client
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""
KEYS = {
    "AWS_ACCESS_KEY_ID": "for-tests", "AWS_SECRET_ACCESS_KEY": "for-tests", "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
}


class S3Server:
    """moto's S3 in a process of its own."""

    def __init__(self):
        self._process = subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(self._process.stdout.readline())

    def environ(self, port=None):
        """Return the variables that lead every S3 client here, or to a port in front of here."""
        return {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port or self.port}"}

    def make_bucket(self, name):
        urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{self.port}/{name}", method="PUT"), timeout=20).close()

    def close(self):
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()


def refusal(status, code):
    """Return an answer as S3 gives it."""
    body = f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>{code} on purpose</Message></Error>'.encode()
    return status, {"Content-Type": "application/xml"}, body


class FaultyLine:
    """A proxy in front of an S3. ``fault`` is asked with the number, method and path of each request: None lets it through, an answer is given instead."""

    def __init__(self, port):
        self.fault = lambda number, method, path: None
        self.requests = []
        line = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                line.requests.append((self.command, self.path))
                answer = line.fault(len(line.requests), self.command, self.path)
                status, headers, body = answer or forward(port, self.command, self.path, dict(self.headers), data)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if "Content-Length" not in headers:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any  # noqa: N815  # the names that http.server looks for

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def forward(port, method, path, headers, data):
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        link.request(method, path, data, headers)
        answer = link.getresponse()
        body = answer.read()
        kept = {name: value for name, value in answer.getheaders() if name.lower() not in ("transfer-encoding", "connection")}
        return answer.status, kept, body
    finally:
        link.close()


def silent(seconds):
    """Return a fault: no answer for so long."""

    def fault(number, method, path):
        time.sleep(seconds)
        return refusal(500, "InternalError")

    return fault

"""A proxy that drops connections, always the same ones: `lossy.py UPSTREAM` prints its own address, then forwards.

- The first answer to every POST under an idempotency key is lost after the server gave it.
- The first GET of every path gets 429, as from a server that has too much to do.
- The first three streams of events are cut in the middle of an event.
"""

import http.client
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

upstream = urllib.parse.urlsplit(sys.argv[1])
lock = threading.Lock()
seen: set[str] = set()
streams = 0

PROBLEM = (
    b'{"type":"about:blank","title":"Overloaded","status":429,"detail":"Too much","code":"overloaded",'
    b'"success":false,"errors":[],"allowedTransitions":[]}'
)


def first(what: str) -> bool:
    with lock:
        new = what not in seen
        seen.add(what)
        return new


class Road(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def answer(self) -> None:
        global streams
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urllib.parse.urlsplit(self.path).path
        if self.command == "GET" and path != "/v1/events" and first(path):
            self.send_response(429)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Type", "application/problem+json")
            self.send_header("Content-Length", str(len(PROBLEM)))
            self.end_headers()
            self.wfile.write(PROBLEM)
            return
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        there = http.client.HTTPConnection(upstream.hostname or "", upstream.port, timeout=60)
        there.request(self.command, self.path, body or None, headers)
        response = there.getresponse()
        key = self.headers.get("Idempotency-Key")
        if self.command == "POST" and key and first(key):
            response.read()
            self.close_connection = True
            return
        left = None
        if path == "/v1/events":
            with lock:
                streams += 1
                left = 900 * streams if streams <= 3 else None
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length", "date"):
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        while piece := response.read1(65536):
            if left is not None and len(piece) >= left:
                self.wfile.write(piece[: left - 1])
                break
            left = None if left is None else left - len(piece)
            self.wfile.write(piece)
            self.wfile.flush()
        there.close()
        self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = answer


server = ThreadingHTTPServer(("127.0.0.1", 0), Road)
server.daemon_threads = True
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()

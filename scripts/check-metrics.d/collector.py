"""Receives traces of a real server, and parses them with OpenTelemetry's own protocol classes: BINARY FOLDER.

A message is read with the official protobuf classes, which know every name and type and refuse any other.
"""

import http.server
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
import time
import urllib.request

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

binary, folder = sys.argv[1:]
data = pathlib.Path(folder, "traced")
messages = queue.Queue()


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        messages.put((self.path, self.headers["Content-Type"], body))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=collector.serve_forever, daemon=True).start()
endpoint = f"http://127.0.0.1:{collector.server_port}"
environment = dict(os.environ, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_SERVICE_NAME="yard")
server = subprocess.Popen(
    [
        binary, "up", "--data", str(data), "--listen", "127.0.0.1:0", "--packs", "mission", "--log", "json",
        "--token-file", str(data / "token"),
    ],
    env=environment,
    stderr=subprocess.DEVNULL,
)
try:
    while not (data / "address").is_file():
        assert server.poll() is None, "the server did not start"
        time.sleep(0.1)
    url = "http://" + (data / "address").read_text().strip()
    token = (data / "token").read_text().strip()
    trace = "0af7651916cd43dd8448eb211c80319c"
    request = urllib.request.Request(f"{url}/v1/entities/mission.task", method="POST")
    request.add_header("Authorization", f"Bearer {token}")
    request.add_header("Content-Type", "application/json")
    request.add_header("traceparent", f"00-{trace}-b7ad6b7169203331-01")
    with urllib.request.urlopen(request, json.dumps({"id": "T-1", "fields": {"title": "Find the way"}}).encode()):
        pass
finally:
    server.terminate()
    server.wait(30)

names = []
while not messages.empty():
    path, kind, body = messages.get()
    assert (path, kind) == ("/v1/traces", "application/json"), (path, kind)
    read = json_format.Parse(body, ExportTraceServiceRequest())
    plain_json = json.loads(body)
    for resource, plain in zip(read.resource_spans, plain_json["resourceSpans"]):
        about = {it.key: it.value.string_value for it in resource.resource.attributes}
        assert about["service.name"] == "yard", about
        for span, raw in zip(resource.scope_spans[0].spans, plain["scopeSpans"][0]["spans"]):
            assert len(raw["traceId"]) == 32 and len(raw["spanId"]) == 16, raw
            assert span.start_time_unix_nano <= span.end_time_unix_nano, raw
            if raw["traceId"] == trace:
                names.append(span.name)
assert sorted(names) == ["POST /v1/entities/{lifecycle}", "commit", "decide", "wait"], names
print(f"traces: read by OpenTelemetry's own classes: {', '.join(names)}")

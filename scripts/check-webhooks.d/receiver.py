"""Receives messages over TLS and writes each as a line. Refuses the first one once, so that the server retries it."""

import base64
import http.server
import json
import pathlib
import ssl
import sys

folder = pathlib.Path(sys.argv[1])
heard = open(folder / "heard.jsonl", "a", encoding="utf-8")


class Receiver(http.server.BaseHTTPRequestHandler):
    refused = False

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if not Receiver.refused:
            Receiver.refused = True
            self.send_response(500)
            self.end_headers()
            return
        line = {"headers": dict(self.headers.items()), "body": base64.b64encode(body).decode()}
        heard.write(json.dumps(line) + "\n")
        heard.flush()
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
(folder / "port").write_text(str(server.server_address[1]))
server.serve_forever()

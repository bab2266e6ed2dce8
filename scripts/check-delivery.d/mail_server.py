"""A mail server that takes mail only over TLS and with a password. It refuses the first message once, for the moment."""

import asyncio
import json
import pathlib
import ssl
import sys

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

folder = pathlib.Path(sys.argv[1])
USER, PASSWORD = b"trackside", b"open-sesame-42"


def authenticate(server, session, envelope, mechanism, auth_data):
    good = isinstance(auth_data, LoginPassword) and (auth_data.login, auth_data.password) == (USER, PASSWORD)
    return AuthResult(success=good, handled=False)


class Handler:
    has_refused = False
    count = 0

    def __init__(self, is_tls):
        self.is_tls = is_tls

    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        if address != "pia@example.com":
            return f"550 5.1.1 <{address}>: no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if not Handler.has_refused:
            Handler.has_refused = True
            return "451 4.7.1 Greylisted, try again"
        Handler.count += 1
        about = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "tls": self.is_tls or session.ssl is not None,
            "authenticated": session.authenticated,
        }
        (folder / f"mail-{Handler.count}.eml").write_bytes(envelope.original_content)
        beside = folder / f"mail-{Handler.count}.json.new"
        beside.write_text(json.dumps(about))
        beside.rename(folder / f"mail-{Handler.count}.json")
        return "250 2.0.0 Accepted"


def context():
    it = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    it.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return it


common = {"hostname": "127.0.0.1", "port": 0, "authenticator": authenticate, "auth_required": True}
starttls = Controller(Handler(False), tls_context=context(), require_starttls=True, **common)
# Over TLS from the start, the library does not know that the connection is safe.
tls = Controller(Handler(True), ssl_context=context(), auth_require_tls=False, **common)


async def main():
    loop = asyncio.get_running_loop()
    ports = []
    for controller in (starttls, tls):
        made = await loop.create_server(
            controller._factory_invoker, "127.0.0.1", 0, ssl=controller.ssl_context
        )
        ports.append(made.sockets[0].getsockname()[1])
    beside = folder / "ports.new"
    beside.write_text(" ".join(map(str, ports)) + "\n")
    beside.rename(folder / "ports")
    await asyncio.Event().wait()


asyncio.run(main())

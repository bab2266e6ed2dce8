"""Signs people in with the OpenID providers of providers.mjs: PROGRAM PLACE."""

import atexit
import http.cookiejar
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

program, place = sys.argv[1:]
here = pathlib.Path(__file__).parent
folder = pathlib.Path(tempfile.mkdtemp(prefix="check-sign-in-"))
processes = []
PEOPLE = """
claim: email
require: { email_verified: true }
people:
  ada@example.com: { id: ada, roles: [admin] }
  unverified@example.com: {}
groups: { claim: groups, roles: { devs: ['mission:lead'] } }
"""


@atexit.register
def close():
    for process in processes:
        process.kill()
        process.wait()
    shutil.rmtree(folder, ignore_errors=True)


def free_ports(many):
    sockets = [socket.socket() for _ in range(many)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Server:
    """A Trackside server with a provider of its own."""

    def __init__(self, kind, secret="a secret: with+signs&"):
        self.kind, self.secret = kind, secret
        self.port, self.provider_port = free_ports(2)
        self.url = f"http://127.0.0.1:{self.port}"
        self.name = f"{kind}-{self.port}"

    def provider(self):
        redirect = f"{self.url}/sign-in/oidc/callback"
        return {"port": self.provider_port, "redirect": redirect, "kind": self.kind}

    def start(self):
        at = folder / self.name
        at.mkdir()
        (at / "people.yaml").write_text(PEOPLE)
        (at / "secret").write_text(self.secret + "\n")
        processes.append(subprocess.Popen(
            [program, "up", "--data", str(at / "data"), "--listen", f"127.0.0.1:{self.port}",
             "--oidc-issuer", f"http://127.0.0.1:{self.provider_port}", "--oidc-client-id", "trackside",
             "--oidc-client-secret-file", str(at / "secret"), "--people", str(at / "people.yaml")],
            env=dict(os.environ, XDG_STATE_HOME=str(at / "state")),
            stdout=subprocess.DEVNULL, stderr=(at / "log").open("wb"),
        ))

    def wait(self):
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=10):
                    return
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"the server of {self.name} did not start:\n{(folder / self.name / 'log').read_text()}")


class Browser:
    """Follows redirects and keeps cookies."""

    def __init__(self):
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(cookies)

    def open(self, url, form=None):
        data = None if form is None else urllib.parse.urlencode(form).encode()
        request = urllib.request.Request(url, data, headers={"Accept": "text/html"})
        try:
            with self.opener.open(request, timeout=30) as answer:
                status, self.url, text = answer.status, answer.url, answer.read().decode()
        except urllib.error.HTTPError as refused:
            status, self.url, text = refused.code, refused.url, refused.read().decode()
        return status, text

    def location(self, url):
        """Where an address sends the browser, without going there."""
        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_):
                return None

        handlers = [it for it in self.opener.handlers if isinstance(it, urllib.request.HTTPCookieProcessor)]
        try:
            urllib.request.build_opener(Stay, *handlers).open(url, timeout=30)
        except urllib.error.HTTPError as redirect:
            assert redirect.code == 303, (redirect.code, redirect.read())
            return redirect.headers["Location"]
        raise AssertionError(f"{url} does not redirect")

    def sign_in(self, server, login, change=None, deny=False):
        """Signs in at the pages of the provider. `change` alters parameters of the request to the provider."""
        start = self.location(f"{server.url}/sign-in/oidc")
        address, query = start.split("?", 1)
        query = dict(urllib.parse.parse_qsl(query), **(change or {}))
        status, page = self.open(f"{address}?{urllib.parse.urlencode(query)}")
        for _ in range(4):
            prompt = re.search(r'name="prompt" value="(\w+)"', page)
            if not prompt:
                return status, page
            if deny:
                status, page = self.open(f"{self.url}/abort")
                continue
            action = re.search(r'<form[^>]* action="([^"]+)"', page).group(1)
            form = {"prompt": prompt.group(1), "login": login, "password": "x"}
            status, page = self.open(urllib.parse.urljoin(self.url, action), form)
        raise AssertionError(f"the provider asks again and again: {page}")

    def whoami(self, server):
        return json.loads(self.open(f"{server.url}/v1/whoami")[1])


def signs_in(server, login, actor, roles):
    browser = Browser()
    status, page = browser.sign_in(server, login)
    assert status == 200 and "You are signed in" in page, (status, page)
    used = browser.url
    who = browser.whoami(server)
    assert (who["actor"], who["kind"], who["roles"]) == (actor, "human", roles), who
    # The address works once.
    assert browser.open(used)[0] == 401
    print(f"ok   {login} signs in, claims in the {server.kind.replace('-', ' ')}", flush=True)


def refuses(what, server, says, login="ada", **how):
    browser = Browser()
    status, page = browser.sign_in(server, login, **how)
    assert status == 401 and says in page, f"{what}: {status} {page}"
    assert browser.url.startswith(server.url), browser.url
    status, _ = browser.open(f"{server.url}/v1/whoami")
    assert status == 401, f"{what}: a session was started"
    print(f"ok   refused: {what}", flush=True)


info, token = Server("user-info"), Server("id-token")
expired, audience = Server("expired"), Server("audience")
secret = Server("user-info", secret="wrong")
servers = [info, token, expired, audience, secret]
for one in servers:
    one.start()
node = subprocess.Popen(
    ["node", str(here / "providers.mjs"), place, json.dumps([it.provider() for it in servers])],
    stdout=subprocess.PIPE, stderr=(folder / "providers.log").open("wb"), text=True,
)
processes.append(node)
if node.stdout.readline().strip() != "ready":
    raise SystemExit(f"the providers did not start:\n{(folder / 'providers.log').read_text()}")
for one in servers:
    one.wait()

signs_in(info, "ada", "ada", ["admin"])
signs_in(info, "kim", "kim@example.com", ["mission:lead"])
signs_in(token, "ada", "ada", ["admin"])
refuses("a person who is not in the file", info, "not one of the people", login="eve")
refuses("an email address that is not verified", info, "email_verified", login="unverified")
refuses("a nonce of another sign-in", info, "belongs to another sign-in", change={"nonce": "another"})
refuses("a state of another sign-in", info, "began in another browser", change={"state": "another"})
refuses("a code for another verifier", info, "invalid_grant", change={"code_challenge": "A" * 43})
refuses("a code for another client", info, "invalid_grant", change={"client_id": "another"})
refuses("the person does not agree", info, "refused the sign-in", deny=True)
refuses("a wrong client secret", secret, "invalid_client")
refuses("an ID token that has expired", expired, "has expired")
refuses("an ID token for another client", audience, "made for another program")

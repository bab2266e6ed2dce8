"""Followers lose nothing and see nothing twice, through broken connections and restarts, killed ones included.

Each follower reads the stream with a client library that shares no code with us, drops its connection at random
moments and resumes with the last id it has seen, while a writer moves entities and the server restarts.
What each has seen must be the journal: every number once, in order. EVENTS_SEED tries a run again.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import httpx
import httpx_sse

TRACKSIDE, FOLLOWERS, WRITES, RESTARTS = sys.argv[1], 8, 400, 3
seed = int(os.environ.get("EVENTS_SEED", random.randrange(1 << 32)))
chance = random.Random(seed)
print(f"events: EVENTS_SEED={seed}")


class Server:
    def __init__(self, folder):
        self.folder = folder
        self.start()

    def start(self):
        address = os.path.join(self.folder, "address")
        if os.path.exists(address):
            os.remove(address)
        token = os.path.join(self.folder, "token")
        command = [TRACKSIDE, "up", "--data", self.folder, "--listen", "127.0.0.1:0", "--token-file", token]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline = time.time() + 60
        while not (os.path.exists(address) and os.path.getsize(address)):
            assert self.process.poll() is None and time.time() < deadline, "the server does not come up"
            time.sleep(0.02)
        self.url = "http://" + open(address).read()
        self.token = open(token).read()

    def restart(self, how):
        self.process.send_signal(how)
        self.process.wait(30)
        self.start()

    def headers(self):
        return {"Authorization": "Bearer " + self.token}


def follow(server, seen, last, done, luck):
    """Follows until the entry that `done` selects arrives."""
    while not (done and seen and seen[-1] >= done[0]):
        try:
            headers = server.headers() | {"Last-Event-ID": str(seen[-1] if seen else last)}
            with httpx.Client(timeout=2, verify=False) as client:
                url = server.url + "/v1/events?audience=all"
                with httpx_sse.connect_sse(client, "GET", url, headers=headers) as source:
                    patience = luck.randrange(1, 120)
                    for event in source.iter_sse():
                        entry = json.loads(event.data)
                        assert int(event.id) == entry["seq"]
                        seen.append(entry["seq"])
                        patience -= 1
                        if patience == 0 or (done and seen[-1] >= done[0]):
                            break
        except (httpx.HTTPError, OSError):
            time.sleep(0.01)


def write(server, number):
    body = json.dumps({"id": f"E-{number}", "fields": {"title": "Something"}}).encode()
    for _ in range(600):
        headers = server.headers() | {"Content-Type": "application/json", "Idempotency-Key": f"e{number}"}
        request = urllib.request.Request(server.url + "/v1/entities/mission.task", data=body, headers=headers)
        try:
            return urllib.request.urlopen(request, timeout=5).status
        except OSError:
            time.sleep(0.02)
    raise AssertionError("the server does not answer")


def entries(server, after):
    """The journal, read without a stream."""
    found = []
    while True:
        url = f"{server.url}/v1/journal?after={after}&limit=200"
        page = json.load(urllib.request.urlopen(urllib.request.Request(url, headers=server.headers())))["items"]
        if not page:
            return found
        found += [entry["seq"] for entry in page]
        after = found[-1]


with tempfile.TemporaryDirectory() as folder:
    server = Server(folder)
    first = entries(server, 0)[-1]
    done, all_seen, threads = [], [[] for _ in range(FOLLOWERS)], []
    for seen in all_seen:
        luck = random.Random(chance.random())
        threads.append(threading.Thread(target=follow, args=(server, seen, first, done, luck), daemon=True))
        threads[-1].start()
    restarts = {WRITES * (n + 1) // (RESTARTS + 1) for n in range(RESTARTS)}
    for number in range(WRITES):
        assert write(server, number) == 201
        if number in restarts:
            server.restart(signal.SIGKILL if len(restarts) % 2 else signal.SIGTERM)
            restarts.discard(number)
    wanted = entries(server, first)
    done.append(wanted[-1])
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), f"a follower waits for ever: EVENTS_SEED={seed}"
    server.process.terminate()
    server.process.wait(30)
    assert wanted == list(range(first + 1, first + 1 + len(wanted))), "the journal has gaps"
    for seen in all_seen:
        assert seen == wanted, f"lost or repeated: EVENTS_SEED={seed}: {set(wanted) ^ set(seen)}, {len(seen)} of {len(wanted)}"
    print(f"events: {FOLLOWERS} followers saw all {len(wanted)} entries once, through {RESTARTS} restarts")

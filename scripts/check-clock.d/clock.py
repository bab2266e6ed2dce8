"""Runs a server whose machine's clock fails or whose process is stopped: PROGRAM PACK LIBFAKETIME short|long.

Nothing here asserts how long something takes. It compares project time with elapsed time, states and answers.
"""

import atexit
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

program, pack, library, length = sys.argv[1:]
HOUR, DAY = 3600, 86400


def year(number):
    return int(time.mktime(time.strptime(f"{number}-06-01 12:00:00", "%Y-%m-%d %H:%M:%S")))


class Server:
    """A server in its own folder; `shift` is how far its machine's clock is ahead, in seconds."""

    def __init__(self, monotonic=False, shift=0):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="check-clock-"))
        self.monotonic, self.shifted = monotonic, self.folder / "shift"
        self.process = None
        atexit.register(self.close)
        self.shift(shift)
        self.start()

    def shift(self, seconds):
        beside = self.folder / "shift.new"
        beside.write_text(f"{seconds:+d}\n")
        beside.rename(self.shifted)

    def start(self):
        data = self.folder / "data"
        (data / "address").unlink(missing_ok=True)
        environment = dict(
            os.environ,
            XDG_STATE_HOME=str(self.folder / "state"),
            LD_PRELOAD=library,
            FAKETIME_TIMESTAMP_FILE=str(self.shifted),
            FAKETIME_NO_CACHE="1",
            FAKETIME_DONT_FAKE_MONOTONIC="0" if self.monotonic else "1",
        )
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(
            [program, "up", "--data", str(data), "--listen", "127.0.0.1:0", "--token-file", str(data / "token"),
             "--packs", pack],
            env=environment, stderr=log, stdout=log,
        )
        self.wait("the server starts", lambda: (data / "address").exists() and (data / "address").read_text().strip())
        self.url = "http://" + (data / "address").read_text().strip()
        self.token = (data / "token").read_text().strip()

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.close)

    def wait(self, what, condition, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if (found := condition()):
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit(f"FAIL {what}\n{(self.folder / 'log').read_text()}")

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, data, timeout=120) as answer:
                return answer.status, json.loads(answer.read() or "null")
        except urllib.error.HTTPError as refused:
            return refused.code, json.loads(refused.read() or "null")

    def done(self, method, path, body=None):
        status, answer = self.ask(method, path, body)
        assert status < 300, (status, answer)
        return answer

    def now(self):
        """Project time in seconds."""
        if self.monotonic:
            self.create(f"P-{time.monotonic_ns()}")
        return parsed(self.done("GET", "/v1/clock")["now"])

    def create(self, name):
        self.done("POST", "/v1/entities/timed.job", {"id": name})

    def fire(self, name, event):
        self.done("POST", f"/v1/entities/timed.job/{name}/transitions", {"event": event})

    def job(self, name):
        return self.done("GET", f"/v1/entities/timed.job/{name}")

    def state(self, name):
        if self.monotonic:
            # libfaketime does not fake timed waits of the kernel, so a sleeping loop needs a request to wake it.
            self.create(f"P-{time.monotonic_ns()}")
        return self.job(name)["state"]

    def ready(self):
        if self.monotonic:
            self.create(f"P-{time.monotonic_ns()}")
        return self.ask("GET", "/readyz")

    def alerts(self, every=False):
        found = self.done("GET", "/v1/alerts?limit=200" + ("&all=true" if every else ""))["items"]
        return [it for it in found if it["kind"] == "clock"]

    def keeps_time(self, what):
        """Project time advances with elapsed time, and a timer of three seconds fires."""
        name = f"J-{time.monotonic_ns()}"
        began, then, known = time.monotonic(), self.now(), time.monotonic()
        self.create(name)
        self.wait(f"{what}: the timer fires", lambda: self.state(name) == "OVER", 30)
        least, passed = time.monotonic() - known, self.now() - then
        most = time.monotonic() - began
        assert least * 0.9 <= passed <= most * 1.1 + 0.1, f"{what}: {passed} s of project time in {least} to {most} s"

    def is_right(self, what):
        """No alarm, and project time is the machine's real time."""
        self.wait(f"{what}: ready", lambda: self.ready()[0] == 200)
        apart = self.now() - time.time()
        assert abs(apart) < 60, f"{what}: project time is {apart} s off"

    def is_alarmed(self, what):
        detail = self.wait(f"{what}: not ready", lambda: self.ready()[0] == 503 and self.ready()[1]["detail"])
        assert "machine's clock says" in detail, detail
        assert self.wait(f"{what}: the alarm is journalled", self.alerts), what
        assert "alarm" in self.done("GET", "/v1/clock"), what
        return detail


def parsed(text):
    from datetime import datetime

    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def say(what):
    print(f"ok   {what}", flush=True)


def jumps_while_running():
    """The machine's clock jumps and comes back. Project time does not follow."""
    server = Server()
    server.is_right("at the start")
    for jump in [HOUR, -HOUR, DAY, -DAY, year(2248) - int(time.time()), -int(time.time())]:
        what, before = f"a jump by {jump} s", server.now()
        server.shift(jump)
        server.is_alarmed(what)
        server.keeps_time(what)
        assert abs(server.now() - before) < 60, f"{what}: project time jumped by {server.now() - before} s"
        server.shift(0)
        server.is_right(what)
        server.keeps_time(f"after {what}")
        say(what)
    server.close()


def suspensions():
    """The monotonic clock jumps with the time of day, as after a suspension: the time has passed.

    Only forwards: the system guarantees that this clock never goes back, and the timers of the async runtime rely on
    it. With one that goes back, requests time out until it has caught up or the server is started again, which
    `starts` tests.
    """
    for jump in [HOUR, DAY]:
        server = Server(monotonic=True)
        what, before = f"a suspension of {jump} s", server.now()
        server.create("long")
        server.shift(jump)
        server.wait(f"{what}: followed", lambda: server.now() - before > jump * 0.99)
        server.wait(f"{what}: timers fire", lambda: server.state("long") == "OVER")
        server.keeps_time(what)
        assert server.ready()[0] == 200, what
        server.close()
        say(what)


def small_difference():
    server = Server()
    server.shift(20)
    time.sleep(1.5)
    assert server.ready()[0] == 200
    began, first, known = time.monotonic(), server.now(), time.monotonic()
    time.sleep(6)
    least, passed = time.monotonic() - known, server.now() - first
    most = time.monotonic() - began
    # 5 % faster than elapsed time.
    assert least * 1.02 < passed < most * 1.06, f"{passed} s of project time in {least} to {most} s"
    server.close()
    say("a difference of 20 s is steered away")


def starts(monotonic):
    """A start with a wrong clock."""
    for shift in [-HOUR, -DAY, -int(time.time()), year(2248) - int(time.time())]:
        server = Server(monotonic)
        before = server.now()
        server.kill()
        server.shift(shift)
        server.start()
        what = f"a start with the clock at {shift:+d} s, monotonic clock {'faked' if monotonic else 'real'}"
        server.is_alarmed(what)
        server.keeps_time(what)
        assert abs(server.now() - before) < 120, what
        if not monotonic:
            # The clock is set right: that is believed without a person.
            server.shift(0)
            server.is_right(f"{what}, then set right")
        server.close()
        say(what)


def further_starts():
    server = Server()
    server.create("long")
    server.fire("long", "extend")
    server.kill()
    server.shift(30 * DAY)
    server.start()
    server.wait("after 30 days off, timers fire", lambda: server.state("long") == "OVER")
    assert server.ready()[0] == 200
    server.close()
    say("a start after 30 days off")
    server = Server(shift=-int(time.time()))
    server.is_alarmed("a new project in 1970")
    server.keeps_time("a new project in 1970")
    server.shift(0)
    server.is_right("a new project in 1970, then set right")
    server.close()
    say("a new project in 1970")


def command(server, *words):
    environment = dict(os.environ, TRACKSIDE_URL=server.url, TRACKSIDE_TOKEN=server.token)
    return subprocess.run([program, *words], env=environment, capture_output=True, text=True)


def ways_out():
    """`clock accept` and `clock reset`, with kills in between."""
    server = Server()
    server.create("long")
    server.fire("long", "extend")
    server.shift(30 * DAY)
    server.is_alarmed("30 days ahead")
    wrong = command(server, "clock", "reset")
    assert wrong.returncode != 0 and "clock accept" in wrong.stderr + wrong.stdout, wrong
    done = command(server, "clock", "accept", "--reason", "paused")
    assert done.returncode == 0, done
    server.wait("after accept, timers fire", lambda: server.state("long") == "OVER")
    server.wait("after accept, ready", lambda: server.ready()[0] == 200)
    assert abs(server.now() - time.time() - 30 * DAY) < 60
    say("clock accept")
    server.shift(0)
    server.is_alarmed("30 days behind")
    server.kill()
    server.start()
    server.is_alarmed("30 days behind, after a kill")
    done = command(server, "clock", "reset", "--reason", "back")
    assert done.returncode == 0, done
    server.is_right("after reset")
    server.close()

    # A project that was made in 2248 and comes back.
    server = Server(shift=year(2248) - int(time.time()))
    assert server.now() > year(2240)
    server.create("long")
    server.fire("long", "extend")
    server.create("held")
    server.fire("held", "take")
    held = server.done("POST", "/v1/tokens", {"actor": "ada", "kind": "agent", "lifetime": "1h"})
    server.kill()
    server.shift(0)
    server.start()
    server.is_alarmed("2248 in the journal")
    server.keeps_time("2248 in the journal")
    assert server.now() > year(2240), "project time waits for a person"
    done = command(server, "clock", "reset", "--reason", "2248")
    assert done.returncode == 0, done
    server.is_right("back from 2248")
    assert "moved with it" in done.stdout, done.stdout
    server.keeps_time("back from 2248")
    timers = server.job("long")["timers"]
    assert timers and all(parsed(it["dueAt"]) < time.time() + 21 * DAY for it in timers), timers
    tokens = [it for it in server.done("GET", "/v1/tokens?limit=200")["items"] if it.get("actor") == "ada"]
    assert tokens and all(parsed(it["expiresAt"]) < time.time() + 2 * HOUR for it in tokens), (held, tokens)
    assert server.done("GET", "/v1/audit/verify")["intact"] is True
    server.kill()
    server.start()
    server.is_right("back from 2248, after a kill")
    server.keeps_time("back from 2248, after a kill")
    server.wait("the lease is lost in its time", lambda: server.state("held") == "LOST")
    server.shift(21 * DAY)
    server.is_alarmed("21 days later")
    assert command(server, "clock", "accept").returncode == 0
    server.wait("the moved timer fires", lambda: server.state("long") == "OVER")
    validated = command(server, "validate", "--deep")
    assert validated.returncode == 0, validated
    server.close()
    say("clock reset from 2248")


def stops(lengths):
    """SIGSTOP does not cost a lease; timers fire late, once."""
    for seconds in lengths:
        server = Server()
        server.create("held")
        server.create("timed")
        server.fire("held", "take")
        fence = lease_of(server)["fence"]
        # The lease is two seconds old when the server stops.
        time.sleep(2)
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        server.process.send_signal(signal.SIGCONT)
        time.sleep(1)
        assert server.state("held") == "TAKEN", f"the lease was lost in a pause of {seconds} s"
        path = "/v1/entities/timed.job/held/heartbeat"
        server.done("POST", path, {"slot": "work", "fence": fence})
        server.wait("the timer fires late", lambda: server.state("timed") == "OVER")
        fired = [it for it in server.done("GET", "/v1/entities/timed.job/timed/history?limit=200")["items"]
                 if it["event"] == "TIMER_FIRED"]
        assert len(fired) == 1, fired
        server.wait("without heartbeats the lease is lost", lambda: server.state("held") == "LOST")
        assert server.ready()[0] == 200, "a pause is no jump"
        server.close()
        say(f"SIGSTOP of {seconds} s")


def lease_of(server):
    job = server.job("held")
    return job["leases"]["work"] if isinstance(job["leases"], dict) else job["leases"][0]


stops([2, 7] if length == "short" else [2, 7, 30])
small_difference()
jumps_while_running()
suspensions()
starts(False)
starts(True)
further_starts()
ways_out()

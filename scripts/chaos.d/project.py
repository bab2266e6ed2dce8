"""A server, runners and agents that a script kills at random, and what can be asked about them afterwards."""

import collections
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request


class KilledProject:
    """A subclass starts the runners, by name, in `start_runner`."""

    def __init__(self, program, seed, name):
        self.program = program
        self.seed = seed
        self.random = random.Random(seed)
        self.root = pathlib.Path(tempfile.mkdtemp(prefix=f"trackside-{name}-"))
        self.mark = f"trackside-{name}-{os.getpid()}"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.server = None
        self.runners = {}
        self.killed = collections.Counter()
        self.killed_runs = set()
        self.progress = time.time()

    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TRACKSIDE_")}
        return kept | {"XDG_STATE_HOME": str(self.root / "state"), "XDG_CACHE_HOME": str(self.root / "cache")}

    def start_server(self):
        data = self.root / "data"
        args = [self.program, "up", "--data", data, "--listen", f"127.0.0.1:{self.port}", "--packs", "coding"]
        log = open(self.root / "server.log", "a")
        self.server = subprocess.Popen(
            [*args, "--token-file", data / "token"], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            env=self.environment(), cwd=self.root,
        )
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5).read()
                self.token = (data / "token").read_text().strip()
                return
            except OSError:
                time.sleep(0.1)
        sys.exit("the server does not start: " + (self.root / "server.log").read_text()[-2000:])

    def ask(self, method, path, body=None, token=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method)
        request.add_header("Authorization", f"Bearer {token or self.token}")
        if body is not None:
            request.add_header("Content-Type", "application/json")
            request.data = json.dumps(body).encode()
        for attempt in range(20):
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    return json.loads(answer.read() or b"null")
            except urllib.error.HTTPError as error:
                if error.code in (409, 422) and attempt > 0:
                    return None  # It arrived the first time.
                if error.code not in (429, 503):
                    sys.exit(f"{method} {path}: {error.code} {error.read().decode()}")
            except OSError:
                pass
            time.sleep(0.2)
        sys.exit(f"{method} {path}: no answer")

    def every(self, path):
        found, cursor = [], ""
        while True:
            page = self.ask("GET", f"{path}?limit=200{cursor}")
            found += page["items"]
            if not page.get("nextCursor"):
                return found
            cursor = f"&cursor={page['nextCursor']}"

    def spawn_runner(self, agent, repo, lifecycle, options, command):
        log = open(self.root / f"{agent}.log", "a")
        args = [self.program, "work", lifecycle, "--as", agent, "--data", self.root / "data", "--repo", repo]
        self.runners[agent] = subprocess.Popen(
            [*args, *options, "--", *command], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            env=self.environment(), cwd=self.root,
        )

    def processes(self, text):
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                line = (entry / "cmdline").read_bytes().decode(errors="replace")
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if text in line and state != "Z":
                found.append((int(entry.name), line))
        return found

    def agents(self):
        own = {it.pid for it in self.runners.values()}
        return [pid for pid, line in self.processes(self.mark) if pid not in own and "trackside\0work" not in line]

    def shims(self):
        return [pid for pid, line in self.processes(str(self.root / "state")) if "\0run\0" in line]

    def runs_of(self, pid):
        """The run that a process belongs to, from its arguments or its environment."""
        found = set()
        for name in ("cmdline", "environ"):
            text = pathlib.Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")
            found |= set(re.findall(r"run-[0-9]{8}-[0-9]{6}-[0-9a-f]+", text))
        return found

    def kill(self, kind):
        """Kills one process of a kind, and starts it again if it is a server or a runner. False if there is none."""
        if kind == "server":
            self.server.kill()
            self.server.wait()
            time.sleep(self.random.random())
            self.start_server()
        elif kind == "runner":
            agent = self.random.choice(sorted(self.runners))
            self.runners[agent].kill()
            self.runners[agent].wait()
            time.sleep(self.random.random())
            self.start_runner(agent)
        else:
            victims = self.shims() if kind == "shim" else self.agents()
            if not victims:
                return False
            victim = self.random.choice(sorted(victims))
            try:
                self.killed_runs |= self.runs_of(victim)
                os.kill(victim, signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError):
                return False
        self.killed[kind] += 1
        self.progress = time.time()
        return True

    def require_progress(self):
        """Ends the script with the reason if nothing happens any more."""
        if time.time() < self.progress + 60:
            return
        lines = ["nothing happened for 60 s"]
        for kind in ("coding.task", "coding.agent", "fleet.runner", "fleet.run"):
            lines += [f"{kind}/{it['id']} is {it['state']}" for it in self.every(f"/v1/entities/{kind}") if not it["final"]]
        sys.exit("\n".join(lines + [f"seed {self.seed}, the logs are in {self.root}"]))

    def revive(self):
        """A runner that ended by itself is an error, unless it found no server when it started."""
        for agent, runner in self.runners.items():
            if runner.poll() == 3:
                self.start_runner(agent)
            elif runner.poll() is not None:
                text = (self.root / f"{agent}.log").read_text()[-1500:]
                sys.exit(f"{agent} ended with {runner.returncode}: {text}")

    def check_reports(self, run, wrong):
        """Start and end of a run are reported once."""
        name = run["id"]
        history = self.ask("GET", f"/v1/entities/fleet.run/{name}/history?limit=200")["items"]
        events = collections.Counter(it["trigger"] for it in history)
        wrong += [f"{name}: {event} was reported {events[event]} times" for event in ("started", "ended") if events[event] != 1]

    def stop_runners(self):
        for runner in self.runners.values():
            runner.terminate()
        for runner in self.runners.values():
            runner.wait(timeout=60)

    def undelivered(self):
        found = []
        for spool in self.root.glob("state/trackside/runners/*/*/spool"):
            found += [f"a report was not delivered: {it}" for it in spool.rglob("*") if it.is_file()]
        return found

    def end(self):
        """Ends the server and the runners, whatever happened."""
        for process in [*self.runners.values(), self.server]:
            if process and process.poll() is None:
                process.kill()
                process.wait()

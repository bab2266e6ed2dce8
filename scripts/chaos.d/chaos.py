"""Kills processes at random while three agents work on tasks, and checks the result.

The script itself plans and reviews: a coder takes its next task only after the last one was reviewed.
"""

import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

PROGRAM = os.path.abspath(sys.argv[1])
KILLS = int(sys.argv[2])
SEED = int(sys.argv[3])
AGENTS = ["coder-1", "coder-2", "coder-3"]

# One line per event. A second process for the same task finds the task locked.
AGENT = r"""
: MARK
exec 9>"LOCKS/${TRACKSIDE_ENTITY#*/}"
flock -n 9 || echo "double $TRACKSIDE_RUN $TRACKSIDE_ENTITY" >> LOG
echo "start $TRACKSIDE_RUN $TRACKSIDE_ENTITY" >> LOG
for i in 1 2 3 4 5 6 7 8; do echo "line $i"; sleep 0.2; done
echo "$TRACKSIDE_RUN" > "${TRACKSIDE_ENTITY##*/}.txt"
git add "${TRACKSIDE_ENTITY##*/}.txt"
git -c user.name=t -c user.email=t@t commit -q -m "$TRACKSIDE_RUN"
echo "end $TRACKSIDE_RUN $TRACKSIDE_ENTITY" >> LOG
"""


class Chaos:
    def __init__(self):
        self.random = random.Random(SEED)
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="trackside-chaos-"))
        self.mark = f"trackside-chaos-{os.getpid()}"
        self.log = self.root / "agents.log"
        self.log.touch()
        (self.root / "locks").mkdir()
        script = AGENT.replace("MARK", self.mark).replace("LOG", str(self.log))
        self.script = script.replace("LOCKS", str(self.root / "locks"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.server = None
        self.runners = {}
        self.killed = collections.Counter()
        self.killed_runs = set()
        self.tasks = 0
        self.progress = time.time()

    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TRACKSIDE_")}
        return kept | {"XDG_STATE_HOME": str(self.root / "state"), "XDG_CACHE_HOME": str(self.root / "cache")}

    def start_server(self):
        data = self.root / "data"
        args = [PROGRAM, "up", "--data", data, "--listen", f"127.0.0.1:{self.port}", "--packs", "coding"]
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

    def start_runner(self, agent):
        repo = self.root / "repos" / agent
        if not repo.exists():
            repo.mkdir(parents=True)
            commit = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "start"]
            subprocess.run(["git", "init", "-q"], cwd=repo, check=True)
            subprocess.run(commit, cwd=repo, check=True)
        log = open(self.root / f"{agent}.log", "a")
        args = [PROGRAM, "work", "coding.task", "--as", agent, "--data", self.root / "data", "--repo", repo]
        self.runners[agent] = subprocess.Popen(
            [*args, "--", "sh", "-c", self.script], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            env=self.environment(), cwd=self.root,
        )

    def task(self):
        self.tasks += 1
        name = f"T-{self.tasks}"
        self.ask("POST", "/v1/entities/coding.task", {"id": name, "fields": {"description": "chaos"}}, self.planner)
        self.ask("POST", f"/v1/entities/coding.task/{name}/transitions", {"event": "finalize"}, self.planner)

    def review(self):
        """Approves submitted tasks."""
        for task in self.every("/v1/entities/coding.task"):
            if task["state"] == "READY_FOR_REVIEW":
                path = f"/v1/entities/coding.task/{task['id']}/transitions"
                self.ask("POST", path, {"event": "claim_review"}, self.reviewer)
                self.ask("POST", path, {"event": "approve"}, self.reviewer)
                self.progress = time.time()

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

    def kill(self):
        kind = self.random.choice(["runner", "runner", "shim", "agent", "agent", "server"])
        if kind == "server":
            self.server.kill()
            self.server.wait()
            time.sleep(self.random.random())
            self.start_server()
        elif kind == "runner":
            agent = self.random.choice(AGENTS)
            self.runners[agent].kill()
            self.runners[agent].wait()
            time.sleep(self.random.random())
            self.start_runner(agent)
        else:
            victims = self.shims() if kind == "shim" else self.agents()
            if not victims:
                return
            victim = self.random.choice(sorted(victims))
            try:
                self.killed_runs |= self.runs_of(victim)
                os.kill(victim, signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError):
                return
        self.killed[kind] += 1
        self.progress = time.time()

    def runs_of(self, pid):
        """The run that a process belongs to, from its arguments or its environment."""
        found = set()
        for name in ("cmdline", "environ"):
            text = pathlib.Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")
            found |= set(re.findall(r"run-[0-9]{8}-[0-9]{6}-[0-9a-f]+", text))
        return found

    def require_progress(self):
        """Ends the script with the reason if nothing happens any more."""
        if time.time() < self.progress + 60:
            return
        lines = ["nothing happened for 60 s"]
        for kind in ("coding.task", "coding.agent", "fleet.runner", "fleet.run"):
            lines += [f"{kind}/{it['id']} is {it['state']}" for it in self.every(f"/v1/entities/{kind}") if not it["final"]]
        sys.exit("\n".join(lines + [f"seed {SEED}, the logs are in {self.root}"]))

    def revive(self):
        """A runner that ended by itself is an error, unless it found no server when it started."""
        for agent, runner in self.runners.items():
            if runner.poll() == 3:
                self.start_runner(agent)
            elif runner.poll() is not None:
                text = (self.root / f"{agent}.log").read_text()[-1500:]
                sys.exit(f"{agent} ended with {runner.returncode}: {text}")

    def run(self):
        self.began = time.time()
        print(f"seed {SEED}, {KILLS} kills, {self.root}", flush=True)
        self.start_server()
        self.ask("PUT", "/v1/settings/coding", {
            "lease_duration": "20s", "lease_grace": "1s", "heartbeat_interval": "5s",
            "restart_delay": "1s", "crash_delay": "1s",
        })
        self.ask("PUT", "/v1/settings/fleet", {"maxRuns": 1000})
        planner = {"actor": "planner-1", "kind": "agent", "roles": ["coding:planner"]}
        self.planner = self.ask("POST", "/v1/tokens", planner)["token"]
        reviewer = {"actor": "reviewer-1", "kind": "agent", "roles": ["coding:code_reviewer"]}
        self.reviewer = self.ask("POST", "/v1/tokens", reviewer)["token"]
        for agent in AGENTS:
            self.start_runner(agent)
        while sum(self.killed.values()) < KILLS:
            waiting = [it for it in self.every("/v1/entities/coding.task") if it["state"] == "UNCLAIMED"]
            if len(waiting) < 3:
                self.task()
            self.review()
            time.sleep(self.random.uniform(0.1, 0.8))
            self.revive()
            self.kill()
            self.require_progress()
        self.settle()
        self.check()

    def settle(self):
        """Waits until every task is over."""
        ended = 0
        while True:
            self.revive()
            self.review()
            tasks = self.every("/v1/entities/coding.task")
            open_tasks = [it["id"] for it in tasks if not it["final"]]
            if not open_tasks:
                break
            if len(tasks) - len(open_tasks) > ended:
                ended = len(tasks) - len(open_tasks)
                self.progress = time.time()
            self.require_progress()
            time.sleep(0.3)
        for runner in self.runners.values():
            runner.terminate()
        for runner in self.runners.values():
            runner.wait(timeout=60)

    def check_reports(self, run, wrong):
        """Start and end of a run are reported once, and its lines are complete."""
        name = run["id"]
        history = self.ask("GET", f"/v1/entities/fleet.run/{name}/history?limit=200")["items"]
        events = collections.Counter(it["trigger"] for it in history)
        wrong += [f"{name}: {event} was reported {events[event]} times" for event in ("started", "ended") if events[event] != 1]
        if run["state"] == "SUCCEEDED":
            lines = self.ask("GET", f"/v1/runs/{name}/transcript?limit=200")["items"]
            said = [it.get("text") for it in lines if it.get("kind") == "output"]
            if said != [f"line {it}" for it in range(1, 9)]:
                wrong.append(f"the transcript of {name} is not complete: {said}")

    def check_tasks(self, runs, wrong):
        """Every task is merged, with the commit of the run that succeeded for it."""
        for task in self.every("/v1/entities/coding.task"):
            name, commit = task["id"], task["fields"].get("review_commit")
            good = [it for it in runs.values() if it["fields"].get("entity") == f"coding.task/{name}" and it["state"] == "SUCCEEDED"]
            if task["state"] != "MERGED":
                wrong.append(f"{name} is {task['state']}: {task['fields'].get('blocked_reason')}")
                continue
            # The result of a run that lost its lease while its runner was dead is refused and kept as evidence.
            late = [it for it in good if it["fields"].get("commit") != commit]
            if late:
                history = self.ask("GET", f"/v1/entities/coding.task/{name}/history?limit=200")["items"]
                kept = json.dumps([it for it in history if it["event"] == "EVIDENCE"])
                lost = [it for it in late if (it["fields"].get("commit") or "no commit") not in kept]
                wrong += [f"{name}: the result of {it['id']} was neither submitted nor kept" for it in lost]
            good = [it for it in good if it not in late]
            if len(good) != 1:
                wrong.append(f"{name} was submitted with {commit}, and {len(good)} runs reported it")
            else:
                repo = self.root / "repos" / good[0]["fields"]["agent"]
                said = subprocess.run(["git", "log", "-1", "--format=%s", commit], cwd=repo, capture_output=True, text=True)
                if said.stdout.strip() != good[0]["id"]:
                    wrong.append(f"the commit of {name} is of {said.stdout.strip()}, not of {good[0]['id']}")
                merged = ["git", "merge-base", "--is-ancestor", commit, "integration"]
                if subprocess.run(merged, cwd=repo).returncode != 0:
                    wrong.append(f"{name} is MERGED, and {commit} is not on the integration branch")

    def check(self):
        wrong = []
        left = self.agents() + self.shims()
        if left:
            wrong.append(f"processes are left: {left}")
        events = [it.split() for it in self.log.read_text().splitlines()]
        wrong += [" ".join(it) for it in events if it[0] == "double"]
        starts = collections.Counter(it[1] for it in events if it[0] == "start")
        ended = collections.Counter(it[1] for it in events if it[0] == "end")
        wrong += [f"{run} was started {count} times" for run, count in starts.items() if count > 1]
        wrong += [f"{run} ended {count} times" for run, count in ended.items() if count > 1]
        runs = {it["id"]: it for it in self.every("/v1/entities/fleet.run")}
        wrong += [f"{run} ran without a record" for run in starts if run not in runs]
        for name, run in runs.items():
            if not run["final"]:
                wrong.append(f"{name} is {run['state']}")
            if run["state"] == "SUCCEEDED" and name not in ended:
                wrong.append(f"{name} succeeded and never ended by itself")
            # A process that was killed in its last moment has written its end, too.
            lapsed = run["fields"].get("exitText") == "no runner renewed the lease"
            if name in ended and run["state"] != "SUCCEEDED" and name not in self.killed_runs and not lapsed:
                wrong.append(f"{name} ended well and is {run['state']}: {run['fields'].get('exitText')}")
            self.check_reports(run, wrong)
        self.check_tasks(runs, wrong)
        for spool in self.root.glob("state/trackside/runners/*/*/spool"):
            left = [str(it) for it in spool.rglob("*") if it.is_file()]
            wrong += [f"a report was not delivered: {it}" for it in left]
        done = collections.Counter(it["state"] for it in self.every("/v1/entities/coding.task"))
        print(
            f"killed: {dict(self.killed)}; tasks: {dict(done)}; runs: {len(runs)}, "
            f"started: {len(starts)}, ended by themselves: {len(ended)}; {time.time() - self.began:.0f} s"
        )
        if wrong:
            print("\n".join(wrong))
            print(f"seed {SEED}, the logs are in {self.root}")
            sys.exit(1)
        shutil.rmtree(self.root, ignore_errors=True)


chaos = Chaos()
try:
    chaos.run()
finally:
    for process in [*chaos.runners.values(), chaos.server]:
        if process and process.poll() is None:
            process.kill()

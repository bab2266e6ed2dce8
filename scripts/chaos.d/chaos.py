"""Kills processes at random while three agents work on tasks, and checks the result.

The script itself plans and reviews: a coder takes its next task only after the last one was reviewed.
"""

import collections
import json
import os
import shutil
import subprocess
import sys
import time

from project import KilledProject

PROGRAM = os.path.abspath(sys.argv[1])
KILLS = int(sys.argv[2])
SEED = int(sys.argv[3])
TIER = ["--containment", sys.argv[4]] if len(sys.argv) > 4 else []
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


class Chaos(KilledProject):
    def __init__(self):
        super().__init__(PROGRAM, SEED, "chaos")
        self.log = self.root / "agents.log"
        self.log.touch()
        (self.root / "locks").mkdir()
        script = AGENT.replace("MARK", self.mark).replace("LOG", str(self.log))
        self.script = script.replace("LOCKS", str(self.root / "locks"))
        self.tasks = 0

    def start_runner(self, agent):
        repo = self.root / "repos" / agent
        if not repo.exists():
            repo.mkdir(parents=True)
            commit = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "start"]
            subprocess.run(["git", "init", "-q"], cwd=repo, check=True)
            subprocess.run(commit, cwd=repo, check=True)
        self.spawn_runner(agent, repo, "coding.task", TIER, ["sh", "-c", self.script])

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
            self.kill(self.random.choice(["runner", "runner", "shim", "agent", "agent", "server"]))
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
        self.stop_runners()

    def check_reports(self, run, wrong):
        """The reports of a run arrived once, and its lines are complete."""
        super().check_reports(run, wrong)
        if run["state"] == "SUCCEEDED":
            lines = self.ask("GET", f"/v1/runs/{run['id']}/transcript?limit=200")["items"]
            said = [it.get("text") for it in lines if it.get("kind") == "output"]
            if said != [f"line {it}" for it in range(1, 9)]:
                wrong.append(f"the transcript of {run['id']} is not complete: {said}")

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
        wrong += self.undelivered()
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
    chaos.end()

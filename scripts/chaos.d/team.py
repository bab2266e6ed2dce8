"""Two coders, two reviewers and a planner take ten tasks from a draft to the integration branch, while this script kills
processes at random, or none. Afterwards the content of the branch is compared byte by byte with what must be there.

The script acts for the person: it creates the tasks, requests a checkpoint, and continues.
"""

import collections
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from project import KilledProject

PROGRAM = os.path.abspath(sys.argv[1])
KILLS = int(sys.argv[2])
SEED = int(sys.argv[3])
STORY = pathlib.Path(__file__).resolve().parents[2] / "crates/cli/demo/team"
GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
# Seconds after which a run that goes round in circles is ended.
LONGEST = 1800
# Ready worktrees that the runners of a repository keep: the default of its settings.
POOL = 1
# Seconds that an agent works at each step: longer with kills, so that they hit it.
STEP = "0.5" if KILLS else "0.1"


class Team(KilledProject):
    def __init__(self):
        super().__init__(PROGRAM, SEED, "team")
        self.story = json.loads((STORY / "team.json").read_text())
        self.team = {it["agent"]: it for it in self.story["team"]}
        self.tasks = [it for it in self.story["created"] if it["of"] == self.story["work"]]
        self.sprint = self.story["checkpoint"]["id"]
        self.repo = self.root / "repo"
        self.halted_at = 0

    def git(self, *args):
        done = subprocess.run(["git", *args], cwd=self.repo, capture_output=True, env=os.environ | GIT)
        if done.returncode != 0:
            sys.exit(f"git {' '.join(args)}: {done.stderr.decode()}")
        return done.stdout

    def make_repo(self):
        """A repository whose main checkout has uncommitted work of its owner."""
        self.repo.mkdir()
        self.git("init", "-q", "-b", "main")
        for name, lines in self.story["files"].items():
            path = self.repo / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(f"{it}\n" for it in lines))
        self.git("add", "--all")
        self.git("-c", "user.name=ada", "-c", "user.email=ada@example.org", "commit", "-q", "-m", "Begin the cookbook")
        (self.repo / "README.md").write_text("not committed\n")
        (self.repo / "staged.txt").write_text("staged\n")
        self.git("add", "staged.txt")
        (self.repo / "own.txt").write_text("not added\n")

    def main_checkout(self):
        """Everything in the main checkout that the agents must not change."""
        found = {"HEAD": (self.repo / ".git/HEAD").read_bytes(), "main": self.git("rev-parse", "main")}
        found["staged"] = self.git("ls-files", "--stage")
        for path in sorted(self.repo.rglob("*")):
            name = str(path.relative_to(self.repo))
            if path.is_file() and not name.startswith((".git/", ".worktrees/")):
                found[name] = hashlib.sha256(path.read_bytes()).digest()
        return found

    def start_runner(self, agent):
        script = STORY / self.team[agent]["script"]
        options = ["--role", self.team[agent]["role"]]
        self.spawn_runner(agent, self.repo, "coding.task", options, ["sh", script, STEP, self.mark])

    def plan(self):
        """A person creates the drafts."""
        self.person = self.ask("POST", "/v1/tokens", self.story["person"])["token"]
        for it in self.story["created"]:
            self.ask("POST", f"/v1/entities/{it['of']}", {"id": it["id"], "fields": it["fields"]}, self.person)

    def fire_on_sprint(self, event, **more):
        path = f"/v1/entities/coding.sprint/{self.sprint}/transitions"
        self.ask("POST", path, {"event": event, **more}, self.person)

    def checkpoint(self, tasks):
        """After some merges everything stops until the person continues."""
        if self.halted_at == 0 and sum(it["state"] == "MERGED" for it in tasks) >= self.story["checkpoint"]["after"]:
            self.halted_at = time.time()
            self.fire_on_sprint("checkpoint", reason=self.story["checkpoint"]["reason"])
        elif self.halted_at > 0 and time.time() > self.halted_at + 3:
            self.halted_at = -1
            self.fire_on_sprint("continue")
            self.progress = time.time()

    def run(self):
        self.began = time.time()
        print(f"seed {SEED}, {KILLS} kills, {self.root}", flush=True)
        self.start_server()
        self.ask("PUT", "/v1/settings/coding", self.story["settings"] | {
            "lease_duration": "20s", "lease_grace": "1s", "heartbeat_interval": "5s", "restart_delay": "1s", "crash_delay": "1s",
        })
        self.ask("PUT", "/v1/settings/fleet", {"maxRuns": 1000})
        self.make_repo()
        self.before = self.main_checkout()
        self.plan()
        for agent in self.team:
            self.start_runner(agent)
        self.work()
        self.wait_for_pool()
        self.stop_runners()
        self.check()

    def work(self):
        """Until every task is closed."""
        seen = None
        next_kill = time.time() + self.random.uniform(1, 3)
        while True:
            self.revive()
            tasks = self.every("/v1/entities/coding.task")
            if len(tasks) == len(self.tasks) and all(it["final"] for it in tasks):
                return
            done = sum(it["final"] for it in tasks)
            # On a busy machine a single step can take long.
            states = [(it["id"], it["state"]) for it in tasks + self.every("/v1/entities/fleet.run")]
            if states != seen:
                seen, self.progress = states, time.time()
            if time.time() > self.began + LONGEST:
                sys.exit(f"the tasks are not closed after {LONGEST} s; seed {SEED}, the logs are in {self.root}")
            self.checkpoint(tasks)
            # Spread over the whole story.
            due = sum(self.killed.values()) < min(KILLS, KILLS * (done + 2) / len(self.tasks))
            if time.time() >= next_kill and due:
                if self.kill(self.random.choice(["runner", "runner", "shim", "agent", "agent", "server"])):
                    next_kill = time.time() + self.random.uniform(0.5, 3)
            self.require_progress()
            time.sleep(0.2)

    def pooled(self):
        """The folders of ready worktrees, among the folders and as git knows them."""
        listed = self.git("worktree", "list", "--porcelain").decode().splitlines()
        root = os.path.realpath(self.repo / ".worktrees/.pool")
        known = [it.split(" ", 1)[1] for it in listed if it.startswith("worktree ")]
        found = {str(it) for it in pathlib.Path(root).glob("*")}
        return found, {it for it in known if it.startswith(root + "/")}

    def wait_for_pool(self):
        """What a killed runner left of a ready worktree is removed by the next one."""
        for _ in range(300):
            folders, known = self.pooled()
            if folders == known and len(folders) <= POOL:
                return
            time.sleep(0.1)

    def histories(self):
        """The entries of every task, by task."""
        found = {}
        for task in self.tasks:
            path = f"/v1/entities/coding.task/{task['id']}/history?limit=200"
            found[task["id"]] = self.ask("GET", path)["items"]
        return found

    def check(self):
        wrong = self.check_content() + self.check_repo()
        wrong += self.left_processes()
        wrong += self.undelivered()
        runs = self.every("/v1/entities/fleet.run")
        for run in runs:
            if not run["final"]:
                wrong.append(f"{run['id']} is {run['state']}")
            self.check_reports(run, wrong)
        events = self.check_tasks(wrong)
        events["crash"] = sum(it["fields"].get("signal") == 9 and it["id"] not in self.killed_runs for it in runs)
        self.check_halt(wrong)
        wrong += [f"the journal: {it}" for it in self.ask("GET", "/v1/audit/verify").get("problems", [])]
        if KILLS == 0:
            failed = [it for it in runs if it["fields"].get("exitClass") == "crash"]
            wrong += [f"{it['id']} of {it['fields']['agent']} failed: {it['fields'].get('exitText')}" for it in failed]
            for name in ("reject", "merge_failed", "handoff", "block", "crash"):
                if events[name] == 0:
                    wrong.append(f"nothing had the event {name}")
        shown = ", ".join(f"{count} {name}" for name, count in sorted(events.items()))
        print(f"killed: {dict(self.killed)}; {shown}; {len(runs)} runs; {time.time() - self.began:.0f} s")
        if wrong:
            print("\n".join(wrong))
            print(f"seed {SEED}, the logs are in {self.root}")
            sys.exit(1)
        shutil.rmtree(self.root, ignore_errors=True)

    def left_processes(self):
        """Everything that was started below the folder has ended, except the server."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != self.server.pid:
                try:
                    if str(self.root).encode() in (entry / "environ").read_bytes():
                        found.append(f"a process is left: {entry.name} {(entry / 'cmdline').read_bytes()}")
                except OSError:
                    pass
        return found

    def check_content(self):
        """The integration branch has what the tasks ask for, byte by byte, and nothing else."""
        expected = {}
        for part in (self.story["files"], self.story["result"]):
            expected |= {name: "".join(f"{it}\n" for it in lines).encode() for name, lines in part.items()}
        wrong = []
        names = self.git("ls-tree", "-r", "-z", "--name-only", "integration").decode().split("\0")[:-1]
        for name in sorted(set(names) | set(expected)):
            found = self.git("cat-file", "blob", f"integration:{name}") if name in names else None
            if found != expected.get(name):
                wrong.append(f"{name} on the integration branch is {found}, not {expected.get(name)}")
        return wrong

    def check_repo(self):
        """No worktree, lock or half-done step is left, and the main checkout is as it was."""
        wrong = []
        after = self.main_checkout()
        for name in sorted(set(self.before) | set(after)):
            if self.before.get(name) != after.get(name):
                wrong.append(f"the main checkout has changed: {name}")
        for task in self.tasks:
            if (self.repo / ".worktrees" / task["id"]).exists():
                wrong.append(f"a worktree is left: {task['id']}")
            if self.git("for-each-ref", f"refs/heads/task/{task['id']}"):
                wrong.append(f"a branch is left: task/{task['id']}")
        listed = subprocess.run(
            [PROGRAM, "worktree", "list", "--json", "--repo", self.repo], capture_output=True, env=self.environment()
        )
        if listed.returncode != 0:
            wrong.append(f"the worktrees cannot be listed: {listed.stderr.decode()}")
        else:
            left = json.loads(listed.stdout)["items"]
            wrong += [f"a worktree is left: {it}" for it in left]
        # These stay for the next task: the folders of reviewers, that of the checks before a merge, and ready worktrees.
        kept = {".", ".worktrees/.integration"} | {f".worktrees/.review/{it}" for it in self.team}
        for line in self.git("worktree", "list", "--porcelain").decode().splitlines():
            key, _, path = line.partition(" ")
            name = os.path.relpath(path, os.path.realpath(self.repo)) if key == "worktree" else "."
            if key == "prunable" or (name not in kept and not name.startswith(".worktrees/.pool/")):
                wrong.append(f"git knows a stray worktree: {line}")
        folders, known = self.pooled()
        if folders != known or len(folders) > POOL:
            wrong.append(f"ready worktrees are left: {sorted(folders)}, and git knows {sorted(known)}")
        for path in (self.repo / ".git").rglob("*.lock"):
            # The files in Trackside's own folder stay. A process that has one locked would be left.
            with open(path) as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    is_left = "trackside" not in path.relative_to(self.repo / ".git").parts
                except OSError:
                    is_left = True
            if is_left:
                wrong.append(f"a lock is left: {path}")
        if self.git("fsck", "--no-dangling", "--no-progress"):
            wrong.append("git fsck has complaints")
        return wrong

    def check_tasks(self, wrong):
        """Every task is merged, once, with the commit that was reviewed. Returns how often what happened on the way."""
        events = collections.Counter()
        commits = {}
        for name, history in self.histories().items():
            # A step has one entry with its state or, if the state stays, with its fields.
            steps = [it for it in history if it["event"] in ("STATE_TRANSITION", "FIELDS_CHANGED")]
            triggers = collections.Counter(it["trigger"] for it in steps)
            events.update({it: triggers[it] for it in ("reject", "merge_failed", "handoff", "block")})
            task = self.ask("GET", f"/v1/entities/coding.task/{name}")
            fields = task["fields"]
            if task["state"] != "MERGED":
                wrong.append(f"{name} is {task['state']}: {fields.get('blocked_reason')}")
                continue
            if triggers["merged"] != 1:
                wrong.append(f"{name} was merged {triggers['merged']} times")
            if fields["approved_by"] in fields["authors"]:
                wrong.append(f"{name} was approved by {fields['approved_by']}, who worked on it")
            ancestor = ["git", "merge-base", "--is-ancestor", fields["review_commit"], "integration"]
            if subprocess.run(ancestor, cwd=self.repo).returncode != 0:
                wrong.append(f"the reviewed commit of {name} is not on the integration branch")
            commits[name] = fields["merge_commit"]
        chain = self.git("rev-list", "--first-parent", "integration").decode().split()
        wrong += [f"the merge of {name} is not a step of the branch" for name, it in commits.items() if it not in chain]
        if len(set(commits.values())) != len(commits):
            wrong.append(f"two tasks have the same merge: {commits}")
        merged = [it.split()[2] for it in self.git("rev-list", "--first-parent", "--parents", "integration").decode().splitlines() if len(it.split()) > 2]
        wrong += [f"the commit {it} was merged {count} times" for it, count in collections.Counter(merged).items() if count > 1]
        return events

    def check_halt(self, wrong):
        """Nothing was claimed, and no merge was requested, while the sprint was at its checkpoint."""
        path = f"/v1/entities/coding.sprint/{self.sprint}/history?limit=200"
        times = {it["trigger"]: it["seq"] for it in self.ask("GET", path)["items"]}
        if "checkpoint" not in times or "continue" not in times:
            wrong.append(f"the sprint had no checkpoint: {times}")
            return
        for name, history in self.histories().items():
            for entry in history:
                during = times["checkpoint"] < entry["seq"] < times["continue"]
                if during and entry["trigger"] in ("claim", "claim_review", "merge"):
                    wrong.append(f"{name}: {entry['trigger']} at the checkpoint")


team = Team()
try:
    team.run()
finally:
    team.end()

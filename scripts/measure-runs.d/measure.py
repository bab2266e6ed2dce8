"""Measures the start of a run in each containment tier, and the heartbeats of 200 runs."""

import http.client
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
SHIM = os.path.join(os.path.dirname(PROGRAM), "trackside-shim")
STARTS = 40
RUNS = 200
EVERY = 5
ROUNDS = 4
# The first instruction of the agent: it writes down the time.
AGENT = ["/bin/bash", "-c", 'echo "$EPOCHREALTIME" > started']


def environment(root):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRACKSIDE_")}
    return kept | {"XDG_STATE_HOME": str(root / "state"), "XDG_CACHE_HOME": str(root / "cache")}


def write_durably(path, value):
    with open(path, "w") as file:
        file.write(json.dumps(value))
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def wait_for(path):
    while not path.exists() or not path.read_text():
        time.sleep(0.0005)
    return float(path.read_text())


def plain_start(work):
    began = time.time()
    process = subprocess.Popen(AGENT, cwd=work, stdin=subprocess.DEVNULL)
    process.wait()
    return wait_for(work / "started") - began


def shim_start(work, tier):
    """What the runner does from its decision to the first instruction of the agent."""
    began = time.time()
    folder = work / "run"
    (folder / "in").mkdir(parents=True)
    spec = {
        "protocol": 1, "run": f"m-{time.time_ns()}", "program": AGENT[0], "args": AGENT[1:], "folder": str(work),
        "tier": tier, "sandbox": None, "lease": time.clock_gettime_ns(time.CLOCK_BOOTTIME) + 60 * 10**9,
        "grace": 1000, "limit": None, "steered": False, "segment": 8 << 20,
    }
    write_durably(folder / "plan", spec)
    write_durably(folder / "spec", spec)
    shim = subprocess.Popen([SHIM, "run", folder], stdin=subprocess.PIPE)
    shim.stdin.write(json.dumps({"env": {"PATH": os.environ["PATH"]}, "redact": []}).encode())
    shim.stdin.close()
    taken = wait_for(work / "started") - began
    shim.wait()
    return taken


def measure_starts(root):
    tiers = [it for it in ("pidns", "cgroup", "tree") if subprocess.run([SHIM, "probe", it], capture_output=True).returncode == 0]
    taken = {name: [] for name in ["plain", *tiers]}
    for number in range(STARTS):
        for name in taken:
            work = root / f"{name}-{number}"
            work.mkdir()
            taken[name].append(plain_start(work) if name == "plain" else shim_start(work, name))
            shutil.rmtree(work)
    plain = statistics.median(taken["plain"])
    print(f"start of a run, median of {STARTS}, from the runner to the first instruction of the agent:")
    for name, times in taken.items():
        median = statistics.median(times)
        print(f"  {name:7} {median * 1000:6.1f} ms  {median / plain:5.1f} x plain fork and exec")


class Server:
    def __init__(self, root):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        data = root / "data"
        args = [PROGRAM, "up", "--data", data, "--listen", f"127.0.0.1:{self.port}", "--packs", "coding"]
        self.process = subprocess.Popen(
            [*args, "--token-file", data / "token"], cwd=root, env=environment(root), stdin=subprocess.DEVNULL,
            stdout=open(root / "server.log", "w"), stderr=subprocess.STDOUT,
        )
        self.line = None
        while True:
            try:
                self.line = http.client.HTTPConnection("127.0.0.1", self.port)
                self.line.request("GET", "/readyz")
                if self.line.getresponse().read() is not None:
                    break
            except OSError:
                time.sleep(0.1)
        self.token = (data / "token").read_text().strip()

    def post(self, path, body):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        self.line.request("POST", path, json.dumps(body), headers)
        answer = self.line.getresponse()
        text = answer.read()
        if answer.status >= 300:
            sys.exit(f"{path}: {answer.status} {text.decode()}")
        return json.loads(text)

    def processor(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_heartbeats(root):
    server = Server(root)
    try:
        made = server.post("/v1/tokens", {"actor": "host", "kind": "agent", "roles": ["fleet:agent_runner"]})
        server.token = made["token"]
        names = [f"host.coder-{it}" for it in range(RUNS)]
        fences = {}
        for name in names:
            entity = server.post("/v1/entities/fleet.runner", {"id": name, "fields": {"machine": "here"}})["entity"]
            fences[name] = entity["leases"][0]["fence"]

        def single():
            for name in names:
                server.post(f"/v1/entities/fleet.runner/{name}/heartbeat", {"fence": fences[name]})

        def batch():
            commands = [{"lifecycle": "fleet.runner", "id": name, "heartbeat": {"fence": fences[name]}} for name in names]
            for answer in server.post("/v1/batch", {"commands": commands})["results"]:
                if "expiresAt" not in answer:
                    sys.exit(f"a heartbeat was refused: {answer}")

        def share(beat):
            before, began = server.processor(), time.time()
            for number in range(ROUNDS):
                if beat:
                    beat()
                time.sleep(max(0.0, began + (number + 1) * EVERY - time.time()))
            return (server.processor() - before) / (time.time() - began) * 100

        idle = share(None)
        print(f"heartbeats of {RUNS} runs every {EVERY} s, processor time of the server in percent of one core:")
        shares = {"single requests": share(single) - idle, "one batch": share(batch) - idle}
        for name, percent in shares.items():
            print(f"  {name:16} {percent:5.1f} %")
        print(f"  ratio            {shares['one batch'] / max(shares['single requests'], 0.01):5.2f}   (idle: {idle:.1f} %)")
    finally:
        server.process.terminate()
        server.process.wait()


root = pathlib.Path(tempfile.mkdtemp(prefix="trackside-measure-"))
try:
    measure_starts(root)
    measure_heartbeats(root)
finally:
    shutil.rmtree(root, ignore_errors=True)

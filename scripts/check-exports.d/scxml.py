"""An SCXML interpreter replays every path: after each step it must be in the engine's state."""

import json
import re
import sys
import xml.etree.ElementTree as tree
from pathlib import Path

from statemachine.exceptions import TransitionNotAllowed
from statemachine.io import load

CALLED = "{https://trackside.dev/scxml}called"
SCXML = "{http://www.w3.org/2005/07/scxml}"
folder = Path(sys.argv[1])


class Entries:
    """Counts entries into states: staying enters none, a move exactly one."""

    def __init__(self):
        self.count = 0

    def on_enter_state(self):
        self.count += 1


class Machines:
    """The machines of a document, one for each state in which a path starts."""

    def __init__(self, text):
        self.text = text
        self.kinds = {}
        ways = tree.fromstring(text).iter(SCXML + "transition")
        self.events = {it.get(CALLED): it.get("event") for it in ways if it.get(CALLED)}

    def start(self, state):
        if state not in self.kinds:
            text = self.text
            if state is not None:
                text = re.sub(r' initial="[^"]*"', f' initial="{state}"', text, count=1)
            kind = load(text, format="scxml")
            kind.allow_event_without_transition = False
            self.kinds[state] = kind
        entries = Entries()
        return self.kinds[state](listeners=[entries]), entries


def walk(machines, path):
    """The number of steps that agreed, and the first difference, if any."""
    try:
        machine, entries = machines.start(path["start"] if path["put"] or path["again"] else None)
    except Exception as error:  # a document that is refused has a way to say so
        return 0, f"refused: {error}"
    here = [it.id for it in machine.configuration]
    if here != [path["start"]]:
        return 0, f"starts in {here}, not in {path['start']}"
    for n, step in enumerate(path["steps"]):
        taken = f"{step['arm']}.{step['choice']}" + (f".{step['to']}" if step["named"] else "")
        where = f"step {n + 1}, {step['event']} {taken} from {step['from']}"
        before = entries.count
        try:
            machine.send(machines.events.get(step["event"], step["event"]), taken=taken)
        except TransitionNotAllowed:
            return n, f"{where}: no way is open"
        here = [it.id for it in machine.configuration]
        if here != [step["to"]]:
            return n, f"{where}: is in {here}, not in {step['to']}"
        if entries.count - before != (0 if step["stay"] else 1):
            return n, f"{where}: entered {entries.count - before} states"
    if machine.is_terminated != path["ended"]:
        return len(path["steps"]), f"ends {'at last' if machine.is_terminated else 'open'}"
    return len(path["steps"]), None


def faults(text, paths):
    """For every state that a path leaves: one transition dropped, and one with another target."""
    tree.register_namespace("", SCXML[1:-1])
    first = {}
    for path in paths:
        for step in path["steps"]:
            if not step["stay"]:
                first.setdefault(step["from"], (path, step))
    for state, (path, step) in first.items():
        for fault in ("dropped", "elsewhere"):
            document = tree.fromstring(text)
            [node] = [it for it in document if it.get("id") == state]
            ways = [
                it
                for it in node
                if step["event"] in (it.get("event"), it.get(CALLED))
                and it.get("target") == step["to"]
                and (it.get("cond") is None or f"'{step['arm']}.{step['choice']}" in it.get("cond"))
            ]
            assert ways, f"{state} has no way by {step['event']}"
            for way in ways:
                if fault == "dropped":
                    node.remove(way)
                else:
                    way.set("target", next(it.get("id") for it in document if it.get("id") != step["to"]))
            yield tree.tostring(document, encoding="unicode"), path


def check(file):
    name = file.name.removesuffix(".scxml")
    text = file.read_text()
    listed = folder / "paths" / f"{name}.json"
    paths = json.loads(listed.read_text())["paths"] if listed.exists() else []
    machines = Machines(text)
    wrong = []
    try:
        machines.start(None)
    except Exception as error:
        wrong.append(f"refused: {error}")
    steps = 0
    for path in paths:
        agreed, differs = walk(machines, path)
        steps += agreed
        if differs:
            wrong.append(differs)
    planted = [walk(Machines(fault), path)[1] for fault, path in faults(text, paths)]
    return name, {
        "paths": len(paths),
        "steps": steps,
        "wrong": wrong,
        "faults": {"planted": len(planted), "noticed": sum(it is not None for it in planted)},
    }


found = dict(check(it) for it in sorted((folder / "exports").glob("*.scxml")))
(folder / "reports" / "scxml.json").write_text(json.dumps(found, indent=1))

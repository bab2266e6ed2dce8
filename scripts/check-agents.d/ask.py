"""Checks how Claude Code and Codex read the settings in our guides: CLAUDE CODEX PATH SCRATCH GUIDES.

Both run in homes of their own under SCRATCH, in its folder `project`, whose server is running.
"""

import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import time

try:
    import tomllib
except ImportError:  # before Python 3.11
    tomllib = None

claude, codex, path, scratch, guides = sys.argv[1:]
scratch, guides = pathlib.Path(scratch), pathlib.Path(guides)
project = scratch / "project"
address = (project / ".trackside/address").read_text().strip()
TOOLS = 10
# The timeout for an answer.
LONG = 120


def blocks(guide, agent):
    """The settings for an agent in a guide: their languages and texts, in order."""
    text = (guides / guide).read_text(encoding="utf-8")
    section = re.search(rf"^## {agent}$(.*?)(?=^## |\Z)", text, re.M | re.S).group(1)
    return re.findall(r"^```(json|toml)\n(.*?)^```$", section, re.M | re.S), section


def environment(home):
    """A clean environment without the user's settings and without telemetry."""
    return {
        "HOME": str(home), "CODEX_HOME": str(home / ".codex"), "TERM": "dumb", "TRACKSIDE_TOKEN": token,
        "PATH": f"{path}:/usr/local/bin:/usr/bin:/bin", "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


def said(*command, home):
    done = subprocess.run(command, cwd=project, env=environment(home), capture_output=True, text=True, timeout=LONG)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def fresh(name):
    """An empty home folder, and a project without settings."""
    for folder in [".claude", ".codex"]:
        shutil.rmtree(project / folder, ignore_errors=True)
    (project / ".mcp.json").unlink(missing_ok=True)
    home = scratch / name
    shutil.rmtree(home, ignore_errors=True)
    (home / ".codex").mkdir(parents=True)
    return home


def written(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def here(text):
    """The same settings with the address of this run's server."""
    return text.replace("127.0.0.1:7420", address).replace("/path/to/project", str(project))


token = ""
owner = {"TRACKSIDE_TOKEN": (scratch / "owner.token").read_text().strip(), "PATH": os.environ["PATH"]}
made = ["token", "create", "ada", "--kind", "agent", "--role", "mission:specialist", "--data", project / ".trackside"]
made = subprocess.run([f"{path}/trackside", *made], env=owner, capture_output=True, text=True, check=True)
token = re.search(r"^ts_\S+", made.stdout, re.M).group(0)


def complaints(text):
    """The output of `claude mcp list` apart from the servers."""
    return [line for line in text.splitlines() if re.search(r"Warning|Error|Skipped|invalid", line)]


def ask_claude():
    settings, section = blocks("agents-over-mcp.md", "Claude Code")
    for _, text in settings:
        home = fresh("claude")
        written(project / ".mcp.json", text)
        (name, server), = json.loads(text)["mcpServers"].items()
        output = said(claude, "mcp", "get", name, home=home)
        shown = server.get("url") or f"{server['command']}\n  Args: {' '.join(server['args'])}"
        for words in ["Scope: Project", f"Type: {server['type']}", shown]:
            assert words in output, f"{words!r} is not in {output}"
        listed = said(claude, "mcp", "list", home=home)
        assert name in listed and not complaints(listed), listed
        # The same, without an approval first.
        said(claude, "mcp", "add-json", "straight", json.dumps(json.loads(here(text))["mcpServers"][name]), home=home)
        listed = said(claude, "mcp", "list", home=home)
        assert re.search(r"^straight: .*Connected$", listed, re.M), listed
        # Settings with a typo produce an error, so no error means that they are valid.
        slip = text.replace('"url"', '"address"').replace('"command"', '"comand"')
        written(project / ".mcp.json", slip)
        assert complaints(said(claude, "mcp", "list", home=home)), slip
    home = fresh("claude")
    typed = re.search(r"`claude (mcp add [^`]+)`", section).group(1).split()
    said(claude, *typed, home=home)
    listed = said(claude, "mcp", "list", home=home)
    assert re.search(r"^trackside: .*Connected$", listed, re.M), listed

    (_, text), = blocks("hooks.md", "Claude Code")[0]
    home = fresh("claude")
    written(project / ".claude/settings.json", text)
    assert "Invalid settings" not in said(claude, "doctor", home=home)
    for slip in [text.replace('"command":', '"comand":'), text.replace("PreToolUse", "PreTool")]:
        written(project / ".claude/settings.json", slip)
        assert "Invalid settings" in said(claude, "doctor", home=home), slip
    print(f"{said(claude, '--version', home=home).strip()}: {len(settings)} settings and `claude {' '.join(typed)}` connect, hooks are valid")


def asked(home, method, parameters):
    """Sends a request to Codex's server for editors, over standard input and output."""
    running = subprocess.Popen([codex, "app-server"], cwd=project, env=environment(home), text=True, bufsize=1,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        for message in [
            {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "trackside", "version": "0"}}},
            {"method": "initialized"},
            {"id": 2, "method": method, "params": parameters},
        ]:
            running.stdin.write(json.dumps(message) + "\n")
        until = time.monotonic() + LONG
        while select.select([running.stdout], [], [], max(0, until - time.monotonic()))[0]:
            line = running.stdout.readline()
            assert line, f"codex ended before it answered {method}"
            answer = json.loads(line)
            if answer.get("id") == 2:
                assert "result" in answer, answer
                return answer["result"]["data"]
        raise AssertionError(f"codex does not answer {method}")
    finally:
        running.kill()
        running.wait()


def ask_codex():
    settings, _ = blocks("agents-over-mcp.md", "Codex")
    for _, text in settings:
        home = fresh("codex")
        written(home / ".codex/config.toml", here(text))
        server, = json.loads(subprocess.run([codex, "mcp", "list", "--json"], cwd=project, env=environment(home),
            capture_output=True, text=True, check=True, timeout=LONG).stdout)
        # Codex ignores unknown keys, so every key must be in its answer.
        if tomllib:
            (name, meant), = tomllib.loads(here(text))["mcp_servers"].items()
            read = {**server, **server["transport"]}
            assert server["name"] == name and all(read.get(key) == value for key, value in meant.items()), (meant, server)
        status, = asked(home, "mcpServerStatus/list", {})
        assert len(status["tools"]) == TOOLS and not status["toolsError"], status

    (_, text), = blocks("hooks.md", "Codex")[0]
    (wanted,), = [[hook["command"] for hook in group["hooks"]] for group in json.loads(text)["hooks"]["PreToolUse"]]
    for whose in ["project", "user"]:
        home = fresh("codex")
        written(home / ".codex/config.toml", f'[projects."{project}"]\ntrust_level = "trusted"\n')
        file = (project if whose == "project" else home) / ".codex/hooks.json"
        written(file, text)
        found, = asked(home, "hooks/list", {"cwds": [str(project)]})
        hook, = found["hooks"]
        assert not found["warnings"] and not found["errors"], found
        assert (hook["eventName"], hook["command"], hook["source"]) == ("preToolUse", wanted, whose), hook
        # Enabled by default in config.toml, and not run before a person has reviewed it, as the guide says.
        assert hook["enabled"] and hook["trustStatus"] == "untrusted", hook
        written(file, text.replace('"command":', '"comand":'))
        found, = asked(home, "hooks/list", {"cwds": [str(project)]})
        assert found["warnings"] and not found["hooks"], found
    version = said(codex, "--version", home=home).splitlines()[0]
    print(f"{version}: {len(settings)} settings connect with {TOOLS} tools each, hooks of project and home are valid")


ask_claude()
ask_codex()

"""Validates the agent settings in the guide as those agents do: python settings.py GUIDE.

Each block must parse, and have the keys that the agent documents and no others: an agent ignores keys it does not
know, and then nothing works and nothing says why.
"""

import json
import re
import sys

try:
    import tomllib
except ImportError:  # before Python 3.11
    import tomli as tomllib

# Documented keys, by agent and transport: https://code.claude.com/docs/en/mcp, https://developers.openai.com/codex/mcp,
# https://cursor.com/docs/mcp.
KNOWN = {
    ("Claude Code", "stdio"): {"type", "command", "args", "env"},
    ("Claude Code", "http"): {"type", "url", "headers"},
    ("Codex", "stdio"): {"command", "args", "env", "env_vars", "cwd", "startup_timeout_sec", "tool_timeout_sec"},
    ("Codex", "http"): {"url", "bearer_token_env_var", "http_headers", "env_http_headers", "startup_timeout_sec", "tool_timeout_sec"},
    ("Cursor", "stdio"): {"type", "command", "args", "env", "envFile"},
    ("Cursor", "http"): {"url", "headers"},
}
# The syntax of environment variables in each agent's settings.
VARIABLE = {"Claude Code": "${TRACKSIDE_TOKEN}", "Cursor": "${env:TRACKSIDE_TOKEN}"}


def blocks(guide):
    agent = None
    for heading, language, text in re.findall(r"^## ([^\n]+)$|^```(json|toml)\n(.*?)^```$", guide, re.M | re.S):
        agent = heading or agent
        if language and agent in {it for it, _ in KNOWN}:
            yield agent, language, text


def servers(language, text):
    if language == "toml":
        return tomllib.loads(text)["mcp_servers"]
    return json.loads(text)["mcpServers"]


def held(agent, server):
    way = "http" if "url" in server else "stdio"
    strange = server.keys() - KNOWN[agent, way]
    assert not strange, f"{agent} does not know {strange}"
    if way == "stdio":
        assert server["command"] == "trackside" and server["args"][0] == "mcp", server
    else:
        assert re.fullmatch(r"http://127\.0\.0\.1:7420/mcp", server["url"]), server
    if agent == "Codex":
        assert server.get("bearer_token_env_var") == "TRACKSIDE_TOKEN" or server.get("env_vars") == ["TRACKSIDE_TOKEN"]
    else:
        shown = server["headers"]["Authorization"] if way == "http" else server["env"]["TRACKSIDE_TOKEN"]
        assert shown.removeprefix("Bearer ") == VARIABLE[agent], shown
    if "type" in server:
        assert server["type"] == way, server
    return way


seen = set()
with open(sys.argv[1], encoding="utf-8") as guide:
    for agent, language, text in blocks(guide.read()):
        [(name, server)] = servers(language, text).items()
        assert name == "trackside", name
        seen.add((agent, held(agent, server)))
assert seen == set(KNOWN), f"the guide has nothing for {set(KNOWN) - seen}"
print(f"{len(seen)} settings of 3 agents are as those document them")

"""The official client of Python: python client.py http|stdio PROTOCOL TASK."""

import asyncio
import os
import sys

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

# Fields that an agent sends after a refusal names them.
BRINGS = {"workPlan": {"bullets": ["read", "write", "check"]}}


def door(way):
    token = os.environ["MCP_TOKEN"]
    if way == "http":
        shows = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
        return streamable_http_client(os.environ["MCP_URL"], http_client=shows)
    return StdioServerParameters(
        command=os.environ["TRACKSIDE_BINARY"],
        args=["mcp", "--data", os.environ["MCP_DATA"]],
        env={"TRACKSIDE_TOKEN": token},
    )


async def main(way, protocol, task):
    mode = "legacy" if protocol == "2025-11-25" else protocol
    async with Client(door(way), mode=mode) as client:
        assert client.protocol_version == protocol, client.protocol_version
        tools = (await client.list_tools()).tools
        assert {"my_work", "claim", "fire", "wait"} <= {it.name for it in tools}, tools
        work = await client.call_tool("my_work", {})
        assert work.structured_content["you"]["actor"] == "ada", work
        assert any(it["id"] == task for it in work.structured_content["yours"]), work

        asked = {"lifecycle": "mission.task", "id": task, "to": "IN_PROGRESS"}
        refused = await client.call_tool("fire", asked)
        assert refused.is_error, refused
        why = refused.structured_content
        assert why["code"] == "requirement-missing" and why["status"] == 422, why
        missing = [it["field"] for it in why["errors"]]
        done = await client.call_tool("fire", {**asked, "fields": {name: BRINGS[name] for name in missing}})
        assert not done.is_error and done.structured_content["entity"]["state"] == "IN_PROGRESS", done

        heard = []

        async def progress(now, total, message):
            heard.append(message)

        wait = {"lifecycle": "mission.task", "id": task, "seconds": 1}
        waited = await client.call_tool("wait", wait, progress_callback=progress)
        assert waited.structured_content["happened"] is False, waited
        assert heard and heard[0].startswith("Still waiting"), heard
    print(
        f"python mcp, {way}, {protocol}: {len(tools)} tools; refused {why['code']} ({', '.join(missing)}),"
        f" set right in one step; {len(heard)} progress while waiting"
    )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

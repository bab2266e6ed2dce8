"""A wait for people as a task of the protocol, by the official client of Python: python task.py http|stdio REQUEST."""

import asyncio
import os
import sys
from typing import Any, Literal

from client import door
from mcp import Client
from mcp.client import ClientExtension, ResultClaim
from mcp_types import CallToolResult, Request, RequestParams, Result


class Begun(Result):
    """The result of a call that continues in the background."""

    result_type: Literal["task"]
    task_id: str
    poll_interval_ms: int


class TaskParams(RequestParams):
    task_id: str


class GetTask(Request[TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: TaskParams
    name_param = "taskId"


class Task(Result):
    status: str
    result: dict[str, Any] | None = None


class Tasks(ClientExtension):
    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self):
        self.asked = 0

    async def resolve(self, begun, context):
        while True:
            task = await context.session.send_request(GetTask(params=TaskParams(task_id=begun.task_id)), Task)
            self.asked += 1
            if task.status != "working":
                return CallToolResult.model_validate(task.result)
            await asyncio.sleep(begun.poll_interval_ms / 4_000)

    def claims(self):
        return [ResultClaim(result_type="task", model=Begun, resolve=self.resolve)]


async def decided(request):
    """Approves as the owner once an agent waits."""
    await asyncio.sleep(1)
    yes = ["fire", f"mission.approval/{request}", "approve", "note=go on", "--data", os.environ["MCP_DATA"]]
    program = await asyncio.create_subprocess_exec(os.environ["TRACKSIDE_BINARY"], *yes, stdout=asyncio.subprocess.DEVNULL)
    assert await program.wait() == 0


async def main(way, request):
    tasks = Tasks()
    async with Client(door(way), mode="2026-07-28", extensions=[tasks]) as client:
        fields = {"justification": "to go on", "summary": "Delete the old notes"}
        made = await client.call_tool("create", {"lifecycle": "mission.approval", "id": request, "fields": fields})
        assert not made.is_error, made
        wait = {"lifecycle": "mission.approval", "id": request}
        waited, _ = await asyncio.gather(client.call_tool("wait", wait), decided(request))
        assert waited.structured_content["happened"], waited
        state = waited.structured_content["entity"]["state"]
        assert state == "APPROVED", waited
        assert tasks.asked > 1, "the result came before the decision"
    print(f"python mcp, {way}, 2026-07-28: a request to people waited for as a task, asked {tasks.asked} times, {state}")


asyncio.run(main(*sys.argv[1:]))

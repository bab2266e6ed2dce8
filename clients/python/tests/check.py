"""The client against a real server, on a straight road and on one that loses things.

TRACKSIDE_URL and TRACKSIDE_TOKEN name the server, TRACKSIDE_LOSSY_URL the road.
"""

from __future__ import annotations

import hashlib
import os
import uuid

from trackside import (
    Conflict,
    Forbidden,
    NotFound,
    Refused,
    Rejected,
    Stale,
    Trackside,
    Unauthorized,
    Unreachable,
    each,
)

URL, TOKEN, LOSSY = (os.environ[it] for it in ("TRACKSIDE_URL", "TRACKSIDE_TOKEN", "TRACKSIDE_LOSSY_URL"))
owner = Trackside(URL, TOKEN)


def fresh(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex[:8]}"


def it_knows_who_it_is() -> None:
    who = owner.whoami()
    assert (who["actor"], who["kind"]) == ("owner", "human"), who
    assert Trackside.from_environment().whoami() == who


def refusals_are_typed_and_say_everything() -> None:
    task = fresh("T")
    owner.create_entity("mission.task", id=task, fields={"title": "Write"})
    owner.fire("mission.task", task, event="assign", fields={"assigneeIds": ["ada"]})
    try:
        owner.fire("mission.task", task, to="IN_PROGRESS")
    except Rejected as refused:
        assert refused.status == 422 and refused.code == "requirement-missing", refused.problem
        assert [it["field"] for it in refused.errors] == ["workPlan"], refused.errors
        assert "IN_PROGRESS" in refused.allowed and isinstance(refused, Refused)
    else:
        raise AssertionError("it was not refused")
    refused_as(Conflict, lambda: owner.create_entity("mission.task", id=task, fields={"title": "Again"}))
    refused_as(NotFound, lambda: owner.show_entity("mission.task", "nobody"))
    refused_as(Stale, lambda: owner.fire("mission.task", task, event="unassign", if_match='"999"'))
    refused_as(Unauthorized, lambda: Trackside(URL, "wrong").whoami())
    agent = Trackside(URL, owner.create_token(actor=fresh("agent"), kind="agent")["token"])
    refused_as(Forbidden, lambda: agent.verify_audit())
    refused_as(Unreachable, lambda: Trackside("http://127.0.0.1:1", TOKEN, tries=2).whoami())


def refused_as(kind: type[Exception], act: object) -> None:
    assert callable(act)
    try:
        act()
    except kind:
        return
    raise AssertionError(f"this should have been {kind.__name__}")


def a_command_whose_answer_was_lost_counts_once() -> None:
    road = Trackside(LOSSY, TOKEN)
    made = road.create_entity("mission.task", fields={"title": "Only one"})
    assert made["replayed"], "the first answer was lost, this is it again"
    task = made["transition"]["id"]
    before = owner.show_entity("mission.task", task)["version"]
    moved = road.fire("mission.task", task, event="comment", fields={"text": "once"})
    assert moved["replayed"]
    said = [it["text"] for it in each(lambda c: owner.messages("mission.task", task, cursor=c))]
    assert said.count("once") == 1, said
    again = owner.fire("mission.task", task, event="comment", fields={"text": "twice"}, idempotency_key="a-key")
    assert not again["replayed"] and before <= again["transition"]["version"]
    assert owner.fire("mission.task", task, event="comment", fields={"text": "twice"}, idempotency_key="a-key")["replayed"]


def too_much_to_do_is_waited_out() -> None:
    assert Trackside(LOSSY, TOKEN).clock()["now"]
    refused_as(Refused, lambda: Trackside(LOSSY, TOKEN, tries=1).list_packs())


def lists_go_on_over_pages() -> None:
    made = {fresh("P") for _ in range(7)}
    for it in made:
        owner.create_entity("mission.task", id=it, fields={"title": "One of many"})
    found = [it["id"] for it in each(lambda c: owner.list_entities("mission.task", limit=3, cursor=c))]
    assert made <= set(found) and len(found) == len(set(found))
    assert owner.query("build", "tasksByState", parameters={"state": "pending"})["items"] == []


def events_go_on_where_they_were_cut() -> None:
    start = next(iter(owner.journal(limit=1)["items"]))["seq"] - 1
    last = [it["seq"] for it in each(lambda c: owner.journal(limit=200, cursor=c))][-1]
    seen: list[int] = []
    for entry in Trackside(LOSSY, TOKEN).events(audience="all", after=start):
        seen.append(entry["seq"])
        if entry["seq"] >= last:
            break
    assert seen == list(range(start + 1, last + 1)), (len(seen), start, last)


def one_acts_for_another() -> None:
    boss = Trackside(URL, owner.create_token(actor=fresh("boss"), kind="agent", for_=["coder-*"])["token"])
    assert boss.whoami().get("actingFor") is None
    assert boss.for_agent("coder-1").whoami()["actingFor"] == "coder-1"
    refused_as(Forbidden, lambda: boss.for_agent("ada").whoami())


def bytes_and_lines_come_as_they_are() -> None:
    content = bytes(range(256)) * 100
    name = hashlib.sha256(content).hexdigest()
    assert owner.put_artifact(name, content)["size"] == len(content)
    assert owner.get_artifact(name) == content
    assert next(owner.export())["export"]["content"] == "records"
    task = fresh("E")
    owner.create_entity("mission.task", id=task, fields={"title": "Proven"})
    assert next(owner.export_evidence("mission.task", task))["evidence"]["entity"] == f"mission.task/{task}"
    assert "stateDiagram" in owner.draw_lifecycle("mission.task", format="mermaid")


def nothing_is_answered_with_nothing() -> None:
    coder = owner.create_token(actor=fresh("coder"), kind="agent", roles=["coding:coder"])
    assert Trackside(URL, coder["token"]).claim("coding.task") is None, "there is nothing to do"
    token = owner.create_token(actor=fresh("gone"), kind="agent")
    owner.revoke_token(token["details"]["id"])
    refused_as(Unauthorized, lambda: Trackside(URL, token["token"]).whoami())


for check in (
    it_knows_who_it_is,
    refusals_are_typed_and_say_everything,
    a_command_whose_answer_was_lost_counts_once,
    too_much_to_do_is_waited_out,
    lists_go_on_over_pages,
    events_go_on_where_they_were_cut,
    one_acts_for_another,
    bytes_and_lines_come_as_they_are,
    nothing_is_answered_with_nothing,
):
    check()
    print(f"python: {check.__name__.replace('_', ' ')}")

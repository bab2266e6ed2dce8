"""Every message against the reference library for Python and the CloudEvents SDK."""

import base64
import json
import pathlib
import sys

from cloudevents.http import from_http
from standardwebhooks import Webhook, WebhookVerificationError

lines = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
secret = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8").strip()
verifier = Webhook(secret)
other = Webhook("whsec_" + base64.b64encode(bytes(32)).decode())


def another_signature(text):
    version, signature = text.split(",", 1)
    raw = bytearray(base64.b64decode(signature))
    raw[0] ^= 1
    return f"{version},{base64.b64encode(raw).decode()}"


accepted = rejected = 0
subjects = set()
for line in lines:
    message = json.loads(line)
    headers = {name.lower(): value for name, value in message["headers"].items()}
    body = base64.b64decode(message["body"]).decode("utf-8")
    verifier.verify(body, headers)
    accepted += 1
    stamp = int(headers["webhook-timestamp"])
    tampered = [
        (verifier, body.replace("mission", "misson", 1), headers),
        (verifier, body + " ", headers),
        (verifier, body, {**headers, "webhook-timestamp": str(stamp + 1)}),
        (verifier, body, {**headers, "webhook-timestamp": str(stamp - 3600)}),
        (verifier, body, {**headers, "webhook-id": headers["webhook-id"] + "0"}),
        (verifier, body, {**headers, "webhook-signature": another_signature(headers["webhook-signature"])}),
        (other, body, headers),
    ]
    for by, changed, given in tampered:
        try:
            by.verify(changed, given)
        except WebhookVerificationError:
            rejected += 1
        else:
            sys.exit(f"taken although it was tampered with: {given} {changed}")
    event = from_http(headers, body)
    assert event["specversion"] == "1.0", event
    assert event["type"].startswith("dev.trackside."), event
    assert event["subject"] == f"{event.data['lifecycle']}/{event.data['id']}", event
    assert event["id"] == str(event.data["seq"]) and event["time"] == event.data["timestamp"], event
    subjects.add(event["subject"])

assert accepted >= 4 and {"mission.task/T-1", "mission.task/T-2"} <= subjects, (accepted, subjects)
print(f"standardwebhooks for Python: {accepted} messages accepted, {rejected} tampered ones rejected; read by the CloudEvents SDK")

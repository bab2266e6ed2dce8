"""Reads the mails as a mail program does, and the arguments of the desktop notification."""

import email
import email.policy
import json
import pathlib
import sys

folder, link = pathlib.Path(sys.argv[1]), sys.argv[2]

TITLE = "Größe & “quotes” 🚦 of a rather long title that takes more than one encoded word: "


def mail(number):
    about = json.loads((folder / f"mail-{number}.json").read_text())
    parsed = email.message_from_bytes((folder / f"mail-{number}.eml").read_bytes(), policy=email.policy.default)
    assert about["tls"] and about["authenticated"], about
    assert (about["from"], about["to"]) == ("trackside@example.com", ["pia@example.com"]), about
    assert not parsed.defects, parsed.defects
    assert str(parsed["From"]) == "trackside@example.com" and str(parsed["To"]) == "pia@example.com", parsed.items()
    assert parsed["Date"].datetime is not None and parsed["Auto-Submitted"] == "auto-generated"
    assert parsed.get_content_type() == "text/plain" and parsed.get_content_charset() == "utf-8"
    return parsed


first = mail(1)
assert str(first["Subject"]).startswith(TITLE), first["Subject"]
body = first.get_content().replace("\r\n", "\n")
assert body.startswith("mission.task/T-1, since 20") and f"\nDecide: {link}" in body, body
assert first["Message-ID"].endswith("@example.com>"), first["Message-ID"]
print("e-mail over STARTTLS, after a temporary refusal:", first["Subject"])

second = mail(2)
assert str(second["Subject"]) == "Trackside: a test message", second["Subject"]
print("e-mail over TLS:", second["Subject"])

said = (folder / "desktop").read_text().split("\n")
assert said[0] == "--app-name=Trackside" and said[1] == "--" and said[2].startswith(TITLE), said
assert said[3].startswith("mission.task/T-1, since 20"), said
print("desktop:", said[2])

"""Sends a server requests of many kinds, then saves its metrics in both formats: URL TOKEN_FILE FOLDER."""

import json
import pathlib
import sys
import time
import urllib.error
import urllib.request

url, token_file, folder = sys.argv[1:]
token = pathlib.Path(token_file).read_text().strip()


def ask(method, path, body=None, accept=None, token=token):
    request = urllib.request.Request(url + path, method=method)
    request.add_header("Authorization", f"Bearer {token}")
    if accept:
        request.add_header("Accept", accept)
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, data) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


for lifecycle in ["mission.task", "build.task", "coding.goal", "research.session", "turns.channel"]:
    for number in range(5):
        fields = {"title": "Find the way", "goal": "Find the way", "name": "the way"}
        ask("POST", f"/v1/entities/{lifecycle}", {"id": f"M-{number}", "fields": fields})
        ask("POST", f"/v1/entities/{lifecycle}", {"id": f"M-{number}"})
for number in range(5):
    task = {"id": f"T-{number}", "fields": {"title": "Find the way"}}
    assert ask("POST", "/v1/entities/mission.task", task)[0] == 201
    ask("POST", f"/v1/entities/mission.task/T-{number}/transitions", {"event": "cancel", "reason": "never mind"})
    ask("POST", f"/v1/entities/mission.task/T-{number}/transitions", {"event": "start"})
for path in ["/v1/stats", "/v1/lifecycles", "/v1/journal", "/v1/alerts", "/v1/audit/verify", "/nowhere", "/healthz"]:
    ask("GET", path)
ask("GET", "/v1/stats", token="ts_not_a_token")
ask("POST", "/v1/clock/advance", {"by": "30d"})
ask("POST", "/v1/sweep")

# Projections are a moment behind.
left = 'trackside_time_in_state_seconds_count{lifecycle="mission.task",state="INBOX"}'
for _ in range(100):
    if left in ask("GET", "/metrics")[1]:
        break
    time.sleep(0.1)
forms = {"prometheus": "text/plain", "openmetrics": "application/openmetrics-text; version=1.0.0"}
for form, accept in forms.items():
    status, text = ask("GET", "/metrics", accept=accept)
    assert status == 200, text
    assert text.endswith("# EOF\n") == (form == "openmetrics")
    assert left in text
    pathlib.Path(folder, f"{form}.txt").write_text(text)

times = []
for _ in range(50):
    begun = time.perf_counter()
    ask("GET", "/metrics")
    times.append((time.perf_counter() - begun) * 1000)
times.sort()
print(f"a scrape takes {times[len(times) // 2]:.1f} ms (half of them), {times[-1]:.1f} ms at most")

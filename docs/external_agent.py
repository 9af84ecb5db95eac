"""An agent of its own on the HTTP API: read a problem, change one knob of its translated program, post it, wait.

python external_agent.py [PROBLEM [URL]], with an API token in MUCUTLASS_TOKEN; see docs/api.md.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.request import Request, urlopen

PROBLEM = sys.argv[1] if len(sys.argv) > 1 else "own/2"
URL = sys.argv[2] if len(sys.argv) > 2 else "http://127.0.0.1:8000"
KNOB = ".stages(3)"
WHY = "Packing both operands makes every load contiguous."


def ask(path: str, form: dict[str, Any] | None = None) -> Any:
    """The answer of a route: a GET, or a POST where there is a form."""
    headers = {"Authorization": f"Bearer {os.environ['MUCUTLASS_TOKEN']}", "Content-Type": "application/json"}
    body = None if form is None else json.dumps(form).encode()
    with urlopen(Request(f"{URL}/api/v1{path}", body, headers), timeout=60) as answer:
        return json.load(answer)


def wait(path: str, ready: Callable[[Any], bool]) -> Any:
    """Ask until it is ready."""
    while not ready(found := ask(path)):
        time.sleep(0.5)
    return found


problem = ask(f"/problems/{PROBLEM}")
print(f"{problem['slug']} {problem['name']}, {len(problem['source'].splitlines())} lines of Python")
run = ask("/runs", {"problems": [PROBLEM], "attempts": 2, "title": "One knob changed"})
key = run["trajectories"][0]["id"]
start = wait(f"/trajectories/{key}", lambda now: now["seed_program"] or now["state"] == "failed")
if not start["seed_program"]:
    sys.exit(start["words"])
changed = re.sub(r"= (gemm\([^()]*\))", rf"= \1{KNOB}", start["seed_program"], count=1)
posted = ask(
    f"/trajectories/{key}/candidates", {"text": changed, "change": KNOB, "hypothesis": WHY, "predicted": 1.1}
)
result = wait(f"/candidates/{posted['id']}?wait=20", lambda now: now["state"] in ("ended", "dropped"))
attempt = result["attempt"]
if attempt is None or attempt["time_s"] is None:
    sys.exit(f"{attempt['outcome']}: {attempt['detail']}" if attempt else "its trajectory ended first")
figures = {name: attempt[name] if attempt[name] is not None else "not measured" for name in ("speedup", "gap")}
held = ", under review" if attempt["flagged"] else ""
print(f"{attempt['time_s'] * 1e3:.3f} ms{held}; over torch eager: {figures['speedup']}; over SOL: {figures['gap']}")
for finding in attempt["findings"]:
    print(f"- {finding['severity']}: {finding['cause']}", *(f"  {each['words']}" for each in finding["advice"]))

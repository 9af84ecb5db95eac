"""The web process: what is there from the start is left out of garbage collections, which come seldom."""

from __future__ import annotations

import subprocess
import sys

from mucutlass_web.serving import memory

_ASK = "import gc, mucutlass_web.wsgi; print(gc.get_freeze_count(), *gc.get_threshold())"


def test_a_web_process_looks_seldom_and_never_at_what_stays() -> None:
    said = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, text=True, check=True).stdout
    kept, *thresholds = map(int, said.split())
    # Django alone is some 50,000 objects; this process knows that its views are imported.
    assert kept > 100_000
    assert thresholds == [memory._YOUNG, memory._MIDDLE, memory._OLD]

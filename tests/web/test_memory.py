"""The web process: what is there from the start is left out of garbage collections, which come seldom."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

from django.http import HttpRequest
from django.template import engines

from mucutlass_web.serving import memory

_ASK = "import gc, mucutlass_web.wsgi; print(gc.get_freeze_count(), *gc.get_threshold())"


def test_a_web_process_looks_seldom_and_never_at_what_stays() -> None:
    said = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, text=True, check=True).stdout
    kept, *thresholds = map(int, said.split())
    # Django alone is some 50,000 objects; this process knows that its views are imported.
    assert kept > 100_000
    assert thresholds == [memory._YOUNG, memory._MIDDLE, memory._OLD]


def test_a_page_keeps_nothing_of_what_it_showed() -> None:
    class Shown:
        def __str__(self) -> str:
            return "what a view made"

    shown = Shown()
    kept = weakref.ref(shown)
    page = engines["django"].from_string("{% with other=shown %}{{ other }}{% endwith %}")
    gc.disable()
    try:
        assert page.render({"shown": shown}, HttpRequest()) == "what a view made"
        del shown
        assert kept() is None
    finally:
        gc.enable()

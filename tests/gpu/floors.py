"""Every timed kernel against its floor: none may be faster than what is said to be the least time.

    python -m tests.gpu.floors build/gpu/figures.json build/gpu/suite.json [--card h200] [--json FILE]

Takes the times that ``bench`` and ``run_suite`` measured; needs no card. The floor is that of the
case's reference in torch, counted and bounded as any problem's, with the element types of the program's results; where
the reference only looks at its input in another order, a copy stands for it. Exit status 1 where a time lies below its
floor.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from kernels.problems.inspect import inspect_many
from kernels.problems.inspection import Inspection
from kernels.targets import Policy
from sol.bounds import Device, bound, count
from sol.bounds.devices import card, find
from tests.gpu.case import Case
from tests.gpu.figures import FIGURES
from tests.gpu.programs import CASES
from tests.gpu.run_suite import TORCH_TYPES

ROOT = Path(__file__).resolve().parents[2]
_BODY, _TYPE = re.compile(r"\n\s*\w+\s*="), re.compile(r"(\w+)\[")
_MOVES = ("copy_", "relayout_")


def source(name: str, case: Case) -> str:
    """The case's reference as a problem file; its tensors are random, its dimensions the case's own."""
    made = [f"(torch.rand({shape}) - 0.5).to(torch.{TORCH_TYPES[dtype]})" for dtype, shape in case.tensors.values()]
    results = _BODY.split(case.text, maxsplit=1)[0].partition("->")[2]
    types = [TORCH_TYPES[dtype] for dtype in _TYPE.findall(results)]
    home, entry = ("figures", "FIGURES[{!r}].case") if name in FIGURES else ("programs", "CASES[{!r}]")
    copied = ".clone()" if name.startswith(_MOVES) else ""
    return (
        f"import sys\n\nimport torch\n\nsys.path.insert(0, {str(ROOT)!r})\n"
        f"from tests.gpu.{home} import {entry.partition('[')[0]}\n\nCASE = {entry.format(name)}\n"
        f"TYPES = [{', '.join(f'torch.{word}' for word in types)}]\n\n\n"
        "class Model(torch.nn.Module):\n"
        "    def forward(self, *tensors):\n"
        "        given = CASE.reference(torch.nn.functional, **dict(zip(CASE.tensors, tensors)))\n"
        "        given = given if isinstance(given, (tuple, list)) else (given,)\n"
        f"        made = tuple(one.to(kind){copied} for one, kind in zip(given, TYPES))\n"
        "        return made if len(made) > 1 else made[0]\n\n\n"
        f"def get_inputs():\n    return [{', '.join(made)}]\n\n\ndef get_init_inputs():\n    return []\n"
    )


def row(case: Case, seconds: float, inspection: Inspection | Exception, device: Device) -> dict[str, Any]:
    """Time, floor, and whether they go together."""
    if not isinstance(inspection, Inspection):
        return {"passed": False, "said": f"not bounded: {inspection}"}
    bounds = bound(count(inspection), inspection, device, Policy(case.policy))
    share = bounds.floor_s / seconds
    said = f"{seconds * 1e6:.1f} µs, floor {bounds.floor_s * 1e6:.1f} µs ({bounds.bound_class}), {share:.3f} of it"
    return {
        "passed": share <= 1.0, "seconds": seconds, "floor_s": bounds.floor_s, "share": share,
        "bound_class": bounds.bound_class, "said": said,
    }  # fmt: skip


def timed(report: dict[str, Any]) -> dict[str, float]:
    """Seconds by the name of a figure or a case, of those that have a time."""
    rows = report["figures"] if "figures" in report else report["cases"]
    found = {name: one.get("ours_ms") or one.get("ms") for name, one in rows.items()}
    return {name: ms * 1e-3 for name, ms in found.items() if ms}


def compared(seconds: dict[str, float], device: Device) -> dict[str, dict[str, Any]]:
    """A row for each time."""
    cases = {name: FIGURES[name].case if name in FIGURES else CASES[name] for name in seconds}
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.py" for name in cases]
        for path, (name, case) in zip(paths, cases.items(), strict=True):
            path.write_text(source(name, case), encoding="utf-8")
        looked = inspect_many(paths, "default", workers=os.cpu_count() or 1)
    return {name: row(cases[name], seconds[name], seen, device) for name, seen in zip(cases, looked, strict=True)}


def main(arguments: list[str] | None = None) -> int:
    """Compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", type=Path, nargs="+", help="of bench and run_suite, all of one card")
    parser.add_argument("--card", help="a name of the table of cards; the report's own card where left out")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    reports = [json.loads(path.read_text("utf-8")) for path in options.reports]
    name = options.card or find(reports[0]["card"])
    if name is None:
        parser.error(f"{reports[0]['card']} is not in the table of cards; name one by --card")
    seconds = {key: one for report in reports for key, one in timed(report).items()}
    rows = compared(seconds, card(name))
    for key, found in rows.items():
        print(f"{'passed' if found['passed'] else 'FAILED'} {key:28} {found['said']}")
    if options.json:
        form = {"card": reports[0]["card"], "date": reports[0]["date"], "kernels": rows}
        options.json.write_text(json.dumps(form, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0 if rows and all(found["passed"] for found in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

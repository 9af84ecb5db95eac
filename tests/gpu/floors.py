"""Every figure of ``figures`` against its floor: no kernel may be faster than what is said to be the least time.

    python -m tests.gpu.floors --figures build/gpu/figures.json [--card h200] [--json FILE]

Takes the times that ``bench`` measured; needs no card. The floor is that of the case's reference in torch, counted and
bounded as any problem's, with the element type of the program's result; where the reference only looks at its input in
another order, a copy stands for it. Exit status 1 where a time lies below its floor.
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
from tests.gpu.figures import FIGURES, Figure
from tests.gpu.run_suite import TORCH_TYPES

ROOT = Path(__file__).resolve().parents[2]
_RESULT = re.compile(r"-> (\w+)\[")
_MOVES = ("copy_", "relayout_")


def source(name: str, figure: Figure) -> str:
    """The case's reference as a problem file; its tensors are random, its dimensions the case's own."""
    made = [
        f"(torch.rand({shape}) - 0.5).to(torch.{TORCH_TYPES[dtype]})"
        for dtype, shape in figure.case.tensors.values()
    ]
    found = _RESULT.search(figure.case.text)
    assert found is not None
    after = f".to(torch.{TORCH_TYPES[found[1]]})" + (".clone()" if name.startswith(_MOVES) else "")
    return (
        f"import sys\n\nimport torch\n\nsys.path.insert(0, {str(ROOT)!r})\n"
        f"from tests.gpu.figures import FIGURES\n\nCASE = FIGURES[{name!r}].case\n\n\n"
        "class Model(torch.nn.Module):\n"
        "    def forward(self, *tensors):\n"
        f"        return CASE.reference(torch.nn.functional, **dict(zip(CASE.tensors, tensors))){after}\n\n\n"
        f"def get_inputs():\n    return [{', '.join(made)}]\n\n\ndef get_init_inputs():\n    return []\n"
    )


def row(figure: Figure, seconds: float, inspection: Inspection | Exception, device: Device) -> dict[str, Any]:
    """Time, floor, and whether they go together."""
    if not isinstance(inspection, Inspection):
        return {"passed": False, "said": f"not bounded: {inspection}"}
    bounds = bound(count(inspection), inspection, device, Policy(figure.case.policy))
    share = bounds.floor_s / seconds
    said = f"{seconds * 1e6:.1f} µs, floor {bounds.floor_s * 1e6:.1f} µs ({bounds.bound_class}), {share:.3f} of it"
    return {
        "passed": share <= 1.0, "seconds": seconds, "floor_s": bounds.floor_s, "share": share,
        "bound_class": bounds.bound_class, "said": said,
    }  # fmt: skip


def compared(figures: dict[str, Any], device: Device) -> dict[str, dict[str, Any]]:
    """A row for each figure that has a time."""
    timed = {name: found["ours_ms"] * 1e-3 for name, found in figures.items() if found.get("ours_ms")}
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.py" for name in timed]
        for path, name in zip(paths, timed, strict=True):
            path.write_text(source(name, FIGURES[name]), encoding="utf-8")
        looked = inspect_many(paths, "default", workers=os.cpu_count() or 1)
    pairs = zip(timed.items(), looked, strict=True)
    return {name: row(FIGURES[name], seconds, seen, device) for (name, seconds), seen in pairs}


def main(arguments: list[str] | None = None) -> int:
    """Compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figures", type=Path, required=True)
    parser.add_argument("--card", help="a name of the table of cards; the report's own card where left out")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    report = json.loads(options.figures.read_text("utf-8"))
    name = options.card or find(report["card"])
    if name is None:
        parser.error(f"{report['card']} is not in the table of cards; name one by --card")
    rows = compared(report["figures"], card(name))
    for figure, found in rows.items():
        print(f"{'passed' if found['passed'] else 'FAILED'} {figure:28} {found['said']}")
    if options.json:
        form = {"card": report["card"], "date": report["date"], "figures": rows}
        options.json.write_text(json.dumps(form, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0 if rows and all(found["passed"] for found in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

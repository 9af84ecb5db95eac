"""A stand-in for Nsight Compute's program: it answers as ncu does, but reads no counter.

Beside it lie ``table.csv`` (what a report holds; absent: no report), ``says.txt`` (what it prints while profiling),
``real`` (run the target, too) and ``hang``.
"""

from __future__ import annotations

SCRIPT = """#!{python}
import contextlib, pathlib, subprocess, sys, time

here = pathlib.Path(__file__).resolve().parent
arguments = sys.argv[1:]
with contextlib.suppress(OSError):  # the sandbox lets it read this folder and no more
    with (here / "log.txt").open("a") as log:
        log.write(" ".join(arguments) + chr(10))
if arguments == ["--version"]:
    print("NVIDIA (R) Nsight Compute Command Line Profiler")
    print("Version 2025.3.1.0 (build 36398880) (public-release)")
    sys.exit(0)
if arguments[0] == "--import":
    print(pathlib.Path(arguments[1]).read_text())
    sys.exit(0)
report = pathlib.Path(arguments[arguments.index("--export") + 1])
says = here / "says.txt"
if says.exists():
    print(says.read_text())
refused = here / "refused.txt"
if refused.exists() and refused.read_text().strip() in arguments[arguments.index("--metrics") + 1].split(","):
    print("==ERROR== Failed to find metric " + refused.read_text().strip())
    sys.exit(1)
target = arguments[arguments.index("--export") + 2 :]
if (here / "hang").exists():
    time.sleep(600)
code = subprocess.run(target).returncode if (here / "real").exists() else 0
table = here / "table.csv"
if table.exists() and not code:
    report.write_text(table.read_text())
sys.exit(code)
"""

"""What a problem constructs its Model with, as plain data: ``python -m kernels.profiling.arguments PROBLEM SIZE``.

Runs the problem's own code, so it runs only as a child with limits. Nothing is built and no input is made. The last
line of its output is JSON: ``{"arguments": […], "keywords": {…}}``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(arguments: list[str]) -> None:
    """``arguments PROBLEM SIZE``. Raises what the file raises, and InitInputsNotPlain."""
    from kernels.harness.plain_data import to_plain
    from kernels.problems.load import load_module, split_arguments

    given, named = split_arguments(load_module(Path(arguments[0]), arguments[1]).get_init_inputs())
    sys.stdout.write("\n" + json.dumps({"arguments": to_plain(given), "keywords": to_plain(named)}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

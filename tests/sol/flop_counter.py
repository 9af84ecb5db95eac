"""Torch's own FLOP counter over problems on the meta device.

``python -m tests.sol.flop_counter PATH… [--compare] [--size=cpu]`` prints one JSON line a problem:
``{"problem": …, "flops": …}``. With ``--compare`` each is held against our own count (``sol/bounds/crosscheck.py``);
exit status 1 where a difference has no listed reason. PATH is a file or a folder; over KernelBench's levels 1 to 3
this takes some minutes, so it runs by hand and not in the test suite.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernels.problems.files import find_problems, read_problem
from kernels.problems.inspect import LIMITS, inspect_many
from kernels.problems.inspection import Inspection
from sol.bounds import count
from sol.bounds.crosscheck import compare


def count_on_meta(path: Path, size: str) -> int:
    """FLOPs that torch counts for one call of the problem's forward, without memory for any tensor."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    model, arguments = _build(path, size)
    for module in model.modules():
        _to_meta(module)
    given = [_meta(item) if isinstance(item, torch.Tensor) else item for item in arguments]
    counter = FlopCounterMode(display=False)
    with torch.device("meta"), counter, torch.no_grad():
        model(*given)
    return int(counter.get_total_flops())


def _build(path: Path, size: str) -> tuple[Any, list[Any]]:
    """Model and arguments, fake where their constructors ask for no values."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    from kernels.problems import load

    def build() -> tuple[Any, list[Any]]:
        module = load.load_module(path, size)
        return load.build_model(module, 0), load.build_inputs(module, 0)

    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            return build()
    except Exception:  # noqa: BLE001 - a real fault shows again
        return build()


def _meta(tensor: Any) -> Any:
    import torch

    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")


def _to_meta(module: Any) -> None:
    import torch

    for name, value in list(module._parameters.items()):
        if value is not None:
            module._parameters[name] = torch.nn.Parameter(_meta(value), requires_grad=value.requires_grad)
    for name, value in [*module._buffers.items(), *vars(module).items()]:
        if isinstance(value, torch.Tensor):
            setattr(module, name, _meta(value))
    if hasattr(module, "_flat_weights"):  # recurrent layers keep a list of their own
        module._flat_weights = [getattr(module, name) for name in module._flat_weights_names]


def _warm_up() -> None:
    """What the first count in a process imports, every fork then has."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils.flop_counter import FlopCounterMode

    with FakeTensorMode():
        model = torch.nn.Sequential(torch.nn.Conv2d(2, 2, 3), torch.nn.Softmax(1))
    for module in model.modules():
        _to_meta(module)
    with FlopCounterMode(display=False), torch.no_grad():
        model(torch.empty(1, 2, 4, 4, device="meta"))
    torch.set_num_threads(1)


def _forked(path: Path, size: str) -> int | None:
    """The count, made in a fork so that no problem alters torch for the next; None where it failed."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        warnings.simplefilter("ignore")
        status = 1
        try:
            os.write(write, str(count_on_meta(path, size)).encode())
            status = 0
        except Exception as error:  # noqa: BLE001 - told, and the next problem comes
            print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    return int(text) if text else None


def main(arguments: list[str]) -> int:
    """Count, and compare where asked to."""
    wanted = next((item.removeprefix("--size=") for item in arguments if item.startswith("--size=")), "gpu")
    paths: list[Path] = []
    for given in [Path(item) for item in arguments if not item.startswith("--")]:
        paths += [found.path for found in find_problems(given)] if given.is_dir() else [given]
    sizes = [wanted if wanted in (known := read_problem(path).sizes) else known[0] for path in paths]
    looked = _inspections(paths, sizes) if "--compare" in arguments else [None] * len(paths)
    _warm_up()
    failed = False
    for path, size, inspection in zip(paths, sizes, looked, strict=True):
        form: dict[str, Any] = {"problem": path.stem, "size": size, "flops": _forked(path, size)}
        if inspection is not None and form["flops"] is not None:
            found = compare(path.stem, count(inspection), form["flops"])
            form |= {"ours": found.ours, "unexplained": found.unexplained, "reasons": found.reasons}
        failed |= form["flops"] is None or bool(form.get("unexplained"))
        print(json.dumps(form), flush=True)
    return 1 if failed else 0


def _inspections(paths: list[Path], sizes: list[str]) -> list[Inspection]:
    found = inspect_many(paths, sizes, limits=replace(LIMITS, seconds=180.0), workers=os.cpu_count() or 1)
    for item in found:
        if not isinstance(item, Inspection):
            raise item
    return [item for item in found if isinstance(item, Inspection)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

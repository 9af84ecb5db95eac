"""Constructor arguments as JSON and back, so that a candidate gets what the problem's get_init_inputs gave and no more.

Lists, tuples and dicts keep their kind. Tensors, modules and functions are refused by name: they could carry the
reference's own objects into the candidate's process. No torch at the top.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kernels.harness.errors import InitInputsNotPlain

_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def to_plain(value: Any, place: str = "its top") -> Any:
    """JSON of a value; InitInputsNotPlain where there is none. ``place`` is where in the arguments it stands."""
    if value is None or isinstance(value, bool | str) or type(value) is int:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, complex):
        return {"complex": [to_plain(value.real), to_plain(value.imag)]}
    if isinstance(value, list):
        return [to_plain(item, f"{place}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, tuple):
        return {"tuple": [to_plain(item, f"{place}[{index}]") for index, item in enumerate(value)]}
    if isinstance(value, Mapping):
        return {
            "dict": [[to_plain(key, place), to_plain(item, f"{place}[{key!r}]")] for key, item in value.items()]
        }
    name = str(value)
    if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
        return {"dtype": name.removeprefix("torch.")}
    raise InitInputsNotPlain(seen=f"a {type(value).__name__}", place=place)


def from_plain(form: Any) -> Any:
    """The reverse of ``to_plain``."""
    if isinstance(form, list):
        return [from_plain(item) for item in form]
    if not isinstance(form, dict):
        return form
    (kind, inner), *_ = form.items()
    if kind == "tuple":
        return tuple(from_plain(item) for item in inner)
    if kind == "dict":
        return {from_plain(key): from_plain(item) for key, item in inner}
    if kind == "complex":
        return complex(from_plain(inner[0]), from_plain(inner[1]))
    if kind == "float":
        return _FLOATS[inner]
    import torch

    return getattr(torch, inner)

"""Typed readers of environment variables; every option of the application goes through one of them."""

from __future__ import annotations

import os
from collections.abc import Sequence


def env_str(name: str, default: str) -> str:
    """The variable's text, or ``default`` where it is unset or empty."""
    return os.environ.get(name) or default


def env_int(name: str, default: int) -> int:
    """The variable as a whole number; ValueError names the variable where it is none."""
    text = os.environ.get(name)
    if not text:
        return default
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}; a whole number would be right") from None


def env_bool(name: str, default: bool) -> bool:
    """The variable as yes or no: 1/0, true/false, yes/no, on/off; ValueError for anything else."""
    text = os.environ.get(name)
    if not text:
        return default
    words = {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
    }
    try:
        return words[text.lower()]
    except KeyError:
        raise ValueError(f"{name} is {text!r}; 1 or 0 would be right") from None


def env_choice(name: str, default: str, right: Sequence[str]) -> str:
    """The variable where it is one of ``right``; ValueError for anything else."""
    text = env_str(name, default)
    if text not in right:
        raise ValueError(f"{name} is {text!r}; one of {', '.join(right)} would be right")
    return text


def env_map(name: str, right: Sequence[str]) -> dict[str, str]:
    """``a=x,b=y`` as a dictionary whose values are of ``right``; ValueError for anything else."""
    found = {}
    for part in env_str(name, "").split(","):
        key, _, value = (piece.strip() for piece in part.partition("="))
        if not part.strip():
            continue
        if not key or value not in right:
            raise ValueError(
                f"{name} has {part.strip()!r}; NAME=ROLE with a role of {', '.join(right)} would be right"
            )
        found[key] = value
    return found

"""The detectors, one a file, in the order in which they look."""

from __future__ import annotations

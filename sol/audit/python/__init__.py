"""Python candidates as syntax trees: names through aliases, what forward reaches and what it returns."""

from __future__ import annotations

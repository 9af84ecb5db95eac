"""Arithmetic that a legitimate kernel may leave out: what the floor takes off the reference's own count.

Each module knows one kind of saving. Where one cannot tell, it errs towards the larger saving: a floor that is too
high accuses an honest kernel. Not counted on: Strassen's algorithm, and sparsity of the values themselves.
"""

from __future__ import annotations

"""Candidates or runs side by side: what differs, by how much, and where a difference would say nothing."""

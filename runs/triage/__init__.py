"""Triage: open cases in the order in which they hurt, one case with its evidence, and what a verdict would change."""

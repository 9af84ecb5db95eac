"""The kernel browser: filters and their counts, sorted pages, the leaderboard with its records, one kernel."""

"""Archives: a run with everything that concerns it in one file, written on one installation and read on another."""

"""The python side of stateful code execution. Only the standard library is needed; IPython, matplotlib, pandas and PIL are
used when the user's own code brings them in."""

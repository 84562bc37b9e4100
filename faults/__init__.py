"""Fault injection: what is on disk after a run was killed, the disk was full, or a write failed.

    python -m faults kills|writes|disk|all --cases N --seed S [--real] [--json FILE]

Every case is a run of `manifill` in its own folder, in which some output files exist already. Afterwards
every output must be the old file or the complete new one; unless the process was killed, all must be old or
all new, the message must say which, the exit code must be right, and no temporary file may be left.
"""

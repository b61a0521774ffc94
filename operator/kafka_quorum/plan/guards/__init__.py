"""The guards: what the operator never does, as code, in one place. One file for each rule of docs/safety.md.

Absolute rules: 1 no initial format after the quorum may have started; 2 no directory id on a disk that is not its own;
6 no deletion of a volume that holds a voter, or the only caught-up copy; 7 no image older than the levels it would
read, and no level that a node cannot read; 8 unknown is not empty; 9 no `--release-version` (see `resources.pods`).
Rules that depend on a look: 3 the projected voter set keeps a live, caught-up majority; 4 one voter change at a time; 5
one controller restarts at a time.
"""

"""`make storm`: random blows at a real quorum, round by round, with one checker."""

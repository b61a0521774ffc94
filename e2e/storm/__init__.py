"""`make storm`: random blows at a real quorum, round by round, against one checker."""

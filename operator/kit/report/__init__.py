"""What a pass reports, and its subscribers."""

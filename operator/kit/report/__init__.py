"""What a pass has to say, and who listens."""

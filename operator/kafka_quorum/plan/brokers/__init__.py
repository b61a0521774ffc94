"""What the quorum requires of brokers, and what it does when they have it."""

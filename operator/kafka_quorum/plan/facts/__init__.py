"""What concerns and guards ask about a situation. Pure; nothing here decides."""

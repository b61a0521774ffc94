"""Who votes: controllers that join, are replaced, and leave."""

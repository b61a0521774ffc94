"""Changes of the voters: controllers that join, are replaced, and leave."""

"""What to do about a pool: concerns, and the guards that allow what could cost data or availability. Pure."""

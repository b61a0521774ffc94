"""What to do: which way leads from one release to another, and which act is next. Pure."""

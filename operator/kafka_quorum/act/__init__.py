"""Execute actions and say what became of them. An error is an outcome here, and never a "no"."""

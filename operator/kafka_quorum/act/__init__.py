"""Execute actions and report the results. An error is an outcome here, and never a "no"."""

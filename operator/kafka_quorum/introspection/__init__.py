"""The operator's read-only look: what it saw last, what it would do next and why, and answers to "what if"."""

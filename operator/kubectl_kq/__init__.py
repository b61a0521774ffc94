"""`kubectl kq`: what a quorum does, why it waits and what is wrong, on one screen. Standard library only.

The plugin runs beside kubectl, and reaches the API server through it alone (`kubectl`). The rest is pure: from objects
to a `page`, and from a page to text, JSON or YAML. It imports nothing of the operator, because it also runs where that
is not installed, and beside an operator of another version.
"""

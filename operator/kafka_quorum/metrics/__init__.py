"""The metrics of the operator: their catalogue, and what fills it."""

"""What happened to quorums: metadata logs and observations of many clusters as tables, and a report.

PySpark on top of `kraftlog`; imports nothing of the operator.
"""

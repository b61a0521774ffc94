"""Certificates: authorities and leafs are made, given ones are checked, all in the PEM that Java's TLS loads. Pure.

Everything that is used is written again from what was parsed, so a file that a process loads has one key, certificates
and nothing else. A reader answers with a value or with its faults, and raises nothing for any input.
"""

"""Desired, Observed, now → Plan. Pure: no client, clock, log or random. A concern a module, guards in `safety`."""

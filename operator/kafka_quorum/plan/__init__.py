"""Desired, Observed, now → Plan. Pure: no client, clock, log or random. One module per concern; guards in `guards`."""

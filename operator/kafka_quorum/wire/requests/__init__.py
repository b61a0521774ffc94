"""Kafka's requests, one file each: versions, bounds, what is asked and what an answer says. `table` lists them."""

"""Kafka's requests, one file each: versions, bounds, the question and the content of an answer. `table` lists them."""

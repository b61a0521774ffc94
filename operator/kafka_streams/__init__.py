"""Kafka Streams applications: what is seen of their groups."""

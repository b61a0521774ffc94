"""What the operator saw, for whoever asks later: lines of JSON, to a volume, an object store or a Kafka topic."""

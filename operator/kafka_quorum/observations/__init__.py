"""What the operator observed, for later analysis: lines of JSON, to a volume, an object store or a Kafka topic."""

"""The resource `KafkaBrokerPool`: brokers that follow a quorum."""

"""The custom resource `KafkaQuorum`: its models, the CRD made from them, and validation into `Desired`."""

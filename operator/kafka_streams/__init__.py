"""The resource `KafkaStreamsApplication`: the pods of one application id, and its safe way between two releases."""

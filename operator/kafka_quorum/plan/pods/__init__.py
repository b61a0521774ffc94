"""The pods that run Kafka, and what stands around them."""

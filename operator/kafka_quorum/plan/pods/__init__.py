"""The pods that run Kafka, and the objects around them."""

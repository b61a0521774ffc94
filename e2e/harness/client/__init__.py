"""The program of a client's pod: it uses Kafka's own client and the standard library, and nothing of the operator."""

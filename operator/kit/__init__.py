"""The base of every resource of ours. Nothing here depends on Kafka, or on a kind of ours."""

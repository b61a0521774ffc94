"""Kafka quorum operator: owns the life of Kafka KRaft controller quorums on Kubernetes."""

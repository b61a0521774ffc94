"""The models of `KafkaBrokerPool`, its rules, and the validation of a spec into `PoolDesired`."""

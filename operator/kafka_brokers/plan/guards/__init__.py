"""The guards of brokers, one file for each rule."""

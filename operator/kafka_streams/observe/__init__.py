"""Answers of brokers about the group of an application, gathered into one value."""

"""Kafka's protocol as far as the operator speaks it: kio messages over asyncio, to the controllers' own listener."""

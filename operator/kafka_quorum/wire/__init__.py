"""The part of Kafka's protocol that the operator uses: kio messages over asyncio, to the controllers' own listener."""

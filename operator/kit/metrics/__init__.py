"""Metrics: what one is, the series of resources, and the server from which they are scraped."""

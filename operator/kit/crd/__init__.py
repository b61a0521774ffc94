"""A kind from its pydantic models: the definition, its rules, and the page that describes it."""

"""The resource's status: conditions, one per file, merged in one place. Pure."""

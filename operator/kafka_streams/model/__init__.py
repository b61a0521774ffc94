"""The domain as frozen values: the group of an application, as it was seen. No I/O."""

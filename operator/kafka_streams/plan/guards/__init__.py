"""The guards of Streams applications: may this be done, on this look? Pure."""

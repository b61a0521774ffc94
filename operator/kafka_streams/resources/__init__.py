"""Kubernetes objects of an application, built and read. Pure."""

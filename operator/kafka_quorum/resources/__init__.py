"""Pure builders of Kubernetes objects. They get what validation and plan have judged, and have no error path."""

"""Pure builders of Kubernetes objects. Validation and plan have checked their input, so they have no error path."""

"""Pure builders of Kubernetes objects, and strict readers of what the operator stores."""

"""The models of the custom resource, its rules, and the validation into `Desired`."""

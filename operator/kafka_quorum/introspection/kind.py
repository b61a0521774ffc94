"""The two kinds of the read-only look, as the API server names them."""

from typing import Final

from kit.kube.protocol import ResourceType

GROUP: Final = "introspect.kafkaquorum.io"
"""A group of its own: rights on quorums, and a wildcard for their group, say nothing about these kinds."""
QUORUM_LOOKS: Final = ResourceType(api_version=f"{GROUP}/v1alpha1", kind="QuorumLook", plural="quorumlooks")
PLAN_QUESTIONS: Final = ResourceType(api_version=f"{GROUP}/v1alpha1", kind="PlanQuestion", plural="planquestions")

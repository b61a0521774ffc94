"""Carries out one action."""

from tests.kit.toy.observe import LABEL
from tests.kit.toy.plan import Action, DropPart, MakePart

from kit.key import ObjectKey
from kit.kube.protocol import CONFIG_MAPS, Json, KubeApi


async def act(kube: KubeApi, key: ObjectKey, action: Action) -> str:
    """Carries out the action, and returns what was done."""
    match action:
        case MakePart(name=name, colour=colour):
            metadata: Json = {"name": name, "namespace": key.namespace, "labels": {LABEL: key.name}}
            await kube.create(CONFIG_MAPS, key.namespace, {"metadata": metadata, "data": {"colour": colour}})
            return f"part {name} is made"
        case DropPart(name=name, uid=uid):
            await kube.delete(CONFIG_MAPS, key.namespace, name, uid=uid)
            return f"part {name} is dropped"

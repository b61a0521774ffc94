"""What a quorum publishes for brokers of others, as their owner reads it: settings, and Secrets to mount. Pure.

An owner knows the ConfigMap `NAME-brokers` and nothing else of the operator. Where a Secret has to be mounted follows
from the settings: the folder of each `…ssl.…store.location` gets the Secrets that have its file. A Secret with none of
these files goes to a folder of its own, and its keys that end in `.properties` are further lines of the settings.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from harness.shell import Json

REVISION: Final = "kafkaquorum.io/contract-revision"
FURTHER: Final = "/etc/kafka-further"
"""Below it, a folder for each Secret that has no store."""
APPEND: Final = f'for each in {FURTHER}/*/*.properties; do [ ! -e "$each" ] || cat "$each"; done'
"""A command of a start script: its output belongs at the end of `server.properties`."""
_BOOTSTRAP: Final = "controller.quorum.bootstrap.servers"
_STORES: Final = ("ssl.keystore.location", "ssl.truststore.location")
_MUST_NOT: Final = " must not be set"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One version of the page. `controllers` are the addresses (`host:port`) at which controllers answer."""

    revision: int
    text: str
    cluster_id: str
    release: str
    secrets: tuple[str, ...]
    controllers: tuple[str, ...]

    @property
    def settings(self) -> dict[str, str]:
        """Its lines `key=value`."""
        return with_page({}, self.text)

    @property
    def stores(self) -> dict[str, PurePosixPath]:
        """The files that its settings name, by the key of the setting."""
        return {key: PurePosixPath(value) for key, value in self.settings.items() if key.endswith(_STORES)}

    @property
    def protocol(self) -> str:
        """The security protocol of the controllers' listener that brokers use."""
        found = self.settings
        name = found["controller.listener.names"].partition(",")[0]
        rows = (row.strip().partition(":") for row in found["listener.security.protocol.map"].split(","))
        return next((protocol for listener, _, protocol in rows if listener == name), name)

    @property
    def port(self) -> int:
        """The port of the controllers' listener that brokers use (IndexError if it names no controller)."""
        return int(self.controllers[0].rpartition(":")[2])

    def reached_at(self, hosts: Iterable[str]) -> dict[str, str]:
        """Its settings with these hosts of controllers for the first contact, at the port that it names."""
        found = self.settings
        if _BOOTSTRAP in found:
            found[_BOOTSTRAP] = ",".join(f"{host}:{self.port}" for host in hosts)
        return found


def page_of(item: Json) -> Page:
    """The page in a ConfigMap (ValueError if it is none)."""
    try:
        body, metadata = json.loads(item["data"]["contract.json"]), item["metadata"]
        return Page(
            revision=int(metadata["annotations"][REVISION]),
            text=str(item["data"]["server.properties"]),
            cluster_id=str(body["cluster_id"]),
            release=str(body["release"]),
            secrets=tuple(map(str, body.get("secrets", ()))),
            controllers=tuple(map(str, body["controllers"])),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"ConfigMap {item.get('metadata', {}).get('name')} is no page for brokers: {error!r}"
        ) from error


def with_page(own: Mapping[str, str], page: str) -> dict[str, str]:
    """An owner's own settings, with the page's lines over them.

    A line `key=value` sets a key, a comment `# KEY must not be set` removes one, all other comments say nothing. A line
    of another form is a ValueError.
    """
    found = dict(own)
    for line in filter(None, map(str.strip, page.splitlines())):
        if line.startswith("#"):
            if line.endswith(_MUST_NOT):
                found.pop(line.removeprefix("#").removesuffix(_MUST_NOT).strip(), None)
            continue
        key, equals, value = line.partition("=")
        if not equals:
            raise ValueError(f"the page has a line that is no setting: {line}")
        found[key.strip()] = value.strip()
    return found


def absent(page: Page, keys: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """What a pod with this page would lack, one sentence each. `keys` are those of each Secret that exists."""
    secrets = (f"there is no Secret {name}" for name in page.secrets if name not in keys)
    there = {key for name in page.secrets for key in keys.get(name, ())}
    stores = dict.fromkeys(path.name for path in page.stores.values())
    files = (f"no Secret of the page has {name}" for name in stores if name not in there)
    return (*secrets, *(files if page.secrets else ()))


def folders(page: Page, keys: Mapping[str, Collection[str]]) -> dict[str, tuple[str, ...]]:
    """The Secrets to mount at each folder. One with stores and further lines is in both."""
    found: dict[str, tuple[str, ...]] = {}
    for path in page.stores.values():
        here = [name for name in page.secrets if path.name in keys.get(name, ())]
        if here:
            folder = str(path.parent)
            found[folder] = tuple(dict.fromkeys((*found.get(folder, ()), *here)))
    stores = {name for names in found.values() for name in names}
    used = {name for name in stores if not any(key.endswith(".properties") for key in keys.get(name, ()))}
    return found | {f"{FURTHER}/{name}": (name,) for name in page.secrets if name not in used}


def mounts(page: Page, keys: Mapping[str, Collection[str]]) -> tuple[list[Json], list[Json]]:
    """Volumes of a pod, and their mounts in its container. Whole folders: a file of its own is never renewed."""
    volumes: list[Json] = []
    places: list[Json] = []
    for number, (folder, names) in enumerate(folders(page, keys).items()):
        name = f"page-{number}"
        sources = [{"secret": {"name": secret}} for secret in names]
        volumes.append({"name": name, "projected": {"sources": sources, "defaultMode": 0o440}})
        places.append({"name": name, "mountPath": folder, "readOnly": True})
    return volumes, places

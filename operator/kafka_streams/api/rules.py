"""The rules of a `KafkaStreamsApplication`, each once: CEL, a predicate for the operator, and a sentence.

Each sentence says what is wrong and how to correct it; the field's path comes first. `spec` assigns the rules to
fields.
"""

import re
from typing import Final

from kafka_quorum.api.rules import NAME_FORM, SIZE_FORM, SIZE_WHOLE
from kit.crd.rule import Rule

__all__ = ["SIZE_FORM", "SIZE_WHOLE"]

NAME_LIMIT: Final = 40
REPLICA_LIMIT: Final = 100
RELEASE_FORM: Final = "(0[.]1[01][.][0-9]{1,2}|[1-9][0-9]{0,2}[.][0-9]{1,2})[.][0-9]{1,2}"
APPLICATION_FORM: Final = "[a-zA-Z0-9._-]+"
VARIABLE_FORM: Final = "([A-Za-z_][A-Za-z0-9_]*)?"
SERVERS_FORM: Final = "([A-Za-z0-9.-]+:[0-9]{1,5}(,[A-Za-z0-9.-]+:[0-9]{1,5})*)?"
OBJECT_FORM: Final = "([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?"
KEY_FORM: Final = "([A-Za-z0-9._-]+)?"
PATH_FORM: Final = "(/[A-Za-z0-9._/-]+)?"
CONTAINER_FORM: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def _form(form: str, message: str) -> Rule:
    return Rule(
        expression=f"self.matches('^{form}$')",
        message=message,
        holds=lambda text: re.fullmatch(form, text) is not None,
    )


NAME_TOO_LONG = Rule(
    expression=f"oldSelf.hasValue() || self.metadata.name.size() <= {NAME_LIMIT}",
    message=(
        f"metadata.name may have at most {NAME_LIMIT} characters: names of pods and revisions are made from it, and "
        "those end at 63; choose a shorter name"
    ),
    also_new=True,
    holds=lambda name: len(name) <= NAME_LIMIT,
)
NAME_NO_LABEL = Rule(
    expression=f"oldSelf.hasValue() || self.metadata.name.matches('^{NAME_FORM}$')",
    message=(
        "metadata.name must be a lower-case DNS label that begins with a letter (a-z, 0-9 and '-', no dots): the names "
        "of pods are made from it; choose another name"
    ),
    also_new=True,
    holds=lambda name: re.fullmatch(NAME_FORM, name) is not None,
)
APPLICATION_ID_FORM = _form(
    APPLICATION_FORM,
    "applicationID must be application.id of the application: letters, digits, '.', '_' and '-'; set it",
)
APPLICATION_ID_CHANGED = Rule(
    expression="self == oldSelf",
    message=(
        "applicationID cannot change, because the group, its offsets and its topics have its name: restore the old "
        "value, or create another KafkaStreamsApplication"
    ),
    holds_after=lambda name, used: name == used,
)
REPLICAS_RANGE = Rule(
    expression=f"self >= 0 && self <= {REPLICA_LIMIT}",
    message=f"replicas must be 0 to {REPLICA_LIMIT}: correct it",
    holds=lambda count: 0 <= count <= REPLICA_LIMIT,
)
RELEASE_IS_ONE = _form(
    RELEASE_FORM,
    "release must be the Kafka Streams release in the image, with all of its numbers: 2.3.1, or 0.10.2.2",
)
VARIABLE_NAME = _form(VARIABLE_FORM, "variable must be the name of an environment variable, or empty")
SERVERS_SHAPE = _form(SERVERS_FORM, "servers must be HOST:PORT, several with commas between them, or empty")
OBJECT_NAME = _form(OBJECT_FORM, "this must be the name of an object of Kubernetes, or empty: correct it")
KEY_NAME = _form(KEY_FORM, "key must be a key of the config map, or empty: correct it")
PATH_SHAPE = _form(PATH_FORM, "this must be an absolute path, or empty: correct it")
CONTAINER_NAME = _form(CONTAINER_FORM, "container must name the container of the template that runs the application")
UPGRADE_ONE = Rule(
    expression="!(self.variable != '' && self.configMap != '')",
    message="upgradeFrom has variable or configMap, not both: remove one of them",
    holds=lambda one: not (one.variable and one.config_map),
)
UPGRADE_WHOLE = Rule(
    expression="(self.configMap == '') == (self.key == '') && (self.configMap == '') == (self.path == '')",
    message="upgradeFrom.configMap, key and path belong together: set all of them, or none",
    holds=lambda one: bool(one.config_map) == bool(one.key) == bool(one.path),
)
BOOTSTRAP_ONE = Rule(
    expression="(self.servers == '') != (size(self.pools) == 0)",
    message="bootstrap has servers, or names pools: set one of the two",
    holds=lambda one: bool(one.servers) != bool(one.pools),
)
STATE_PATH = Rule(
    expression="self.type == 'Ephemeral' || self.path != ''",
    message="state.path must be where the application has its state.dir: set it",
    holds=lambda one: one.type == "Ephemeral" or bool(one.path),
)

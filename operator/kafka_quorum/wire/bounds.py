"""How much of an answer is read: well above what any real cluster has, far below what would stop the operator.

One process serves every quorum, and a quorum's owner chooses its image. An answer above a bound is refused as a whole,
by name and number: a part of it would be a wrong picture (rule 8).
"""

from dataclasses import dataclass
from typing import Final

from kio.schema.api_versions.v0 import response as api_versions_v0
from kio.schema.api_versions.v4 import response as api_versions_v4
from kio.schema.describe_cluster.v1 import response as describe_cluster_v1
from kio.schema.describe_quorum.v2 import response as describe_quorum_v2
from kio.schema.update_features.v1 import response as update_features_v1

from kit.text import NAME_MAX_CHARS

MAX_ANSWER_BYTES: Final = 256 * 1024
"""Of one answer. A DescribeQuorum with all rows that are allowed, 64 voters and 5,000 observers, takes 231 kB."""
MAX_VOTERS: Final = 64
"""Of a voter set; Kafka's own advice is three or five."""
MAX_OBSERVERS: Final = 5_000
"""Every broker of a cluster is an observer of its metadata log, as is a controller without a vote."""
MAX_CONTROLLERS: Final = 256
"""Registered ones: below metadata.version 4.4 those that were removed stay registered."""
MAX_FEATURES: Final = 64
"""That one node supports, or a cluster has finalized; Kafka 4.4 has eight."""
MAX_APIS: Final = 512
"""That one node knows; Kafka 4.4 has about a hundred."""
MAX_ROWS: Final = 64
"""Of every other list."""
MAX_TAGGED_FIELDS: Final = 64
"""Of one struct."""
MAX_NAME_BYTES: Final = NAME_MAX_CHARS
MAX_WORDS_BYTES: Final = 32_767
"""Of an error message, as long as Kafka writes one; it is shortened before it is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """How many elements a list may have, and what they are called in a message."""

    count: int
    plural: str


_OTHER: Final = Bound(count=MAX_ROWS, plural="rows")
_LISTS: Final[dict[tuple[type, str], Bound]] = {
    (describe_quorum_v2.PartitionData, "current_voters"): Bound(count=MAX_VOTERS, plural="voters"),
    (describe_quorum_v2.PartitionData, "observers"): Bound(count=MAX_OBSERVERS, plural="observers"),
    (describe_quorum_v2.DescribeQuorumResponse, "nodes"): Bound(count=MAX_VOTERS, plural="nodes"),
    (describe_quorum_v2.Node, "listeners"): Bound(count=MAX_ROWS, plural="listeners"),
    (describe_cluster_v1.DescribeClusterResponse, "brokers"): Bound(count=MAX_CONTROLLERS, plural="controllers"),
    (api_versions_v0.ApiVersionsResponse, "api_keys"): Bound(count=MAX_APIS, plural="requests"),
    (api_versions_v4.ApiVersionsResponse, "api_keys"): Bound(count=MAX_APIS, plural="requests"),
    (api_versions_v4.ApiVersionsResponse, "supported_features"): Bound(count=MAX_FEATURES, plural="supported features"),
    (api_versions_v4.ApiVersionsResponse, "finalized_features"): Bound(count=MAX_FEATURES, plural="finalized features"),
    (update_features_v1.UpdateFeaturesResponse, "results"): Bound(count=MAX_FEATURES, plural="features"),
}


def list_bound(schema: type, field: str) -> Bound:
    """The bound of a list; one that is not named here has `MAX_ROWS`."""
    return _LISTS.get((schema, field), _OTHER)


def string_bound(field: str) -> int:
    """How many bytes a string may have: words of a server are long, names are not."""
    return MAX_WORDS_BYTES if field == "error_message" else MAX_NAME_BYTES

"""Topics for tests on real brokers."""

import time
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

_ASK_S: Final = 10.0
_DEADLINE_S: Final = 90.0
"""A broker that has just changed its mode left one request without an answer for 20 s, on a busy machine."""
_NO_ANSWER: Final = frozenset({KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError.REQUEST_TIMED_OUT})


def create(client: dict[str, Any], new: NewTopic) -> None:
    """Creates one topic with the settings of an admin client (KafkaException).

    Asks again while no answer comes; then the topic may be there already, by a request whose answer was lost.
    """
    end_s, lost = time.monotonic() + _DEADLINE_S, False
    while True:
        admin = AdminClient(client)  # its answers end with it
        try:
            admin.create_topics([new], request_timeout=_ASK_S)[new.topic].result(2 * _ASK_S)
        except KafkaException as error:
            code = error.args[0].code()
            if lost and code == KafkaError.TOPIC_ALREADY_EXISTS:
                return
            if code not in _NO_ANSWER or time.monotonic() > end_s:
                raise
            lost = True
        else:
            return

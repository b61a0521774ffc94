#!/bin/sh
# kafka-console-consumer.sh --bootstrap-server HOST:PORT --topic TOPIC [--from-beginning] [--max-messages N]
KAFKA_TOOLS_FIRST=1 exec "$(dirname "$0")/kafka-run-class.sh" org.apache.kafka.tools.consumer.ConsoleConsumer "$@"

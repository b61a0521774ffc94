#!/bin/sh
# kafka-console-producer.sh --bootstrap-server HOST:PORT --topic TOPIC: a record for each line of the standard input
KAFKA_TOOLS_FIRST=1 exec "$(dirname "$0")/kafka-run-class.sh" org.apache.kafka.tools.ConsoleProducer "$@"

#!/bin/sh
# kafka-server-start.sh server.properties [--override property=value]*
# EXTRA_ARGS are the options of kafka-run-class.sh; set but empty, no log of the garbage collector is written.
KAFKA_LOG_CONFIG=log4j KAFKA_HEAP_OPTS=${KAFKA_HEAP_OPTS:--Xmx1G -Xms1G}
export KAFKA_LOG_CONFIG KAFKA_HEAP_OPTS
# shellcheck disable=SC2086 # several options
exec "$(dirname "$0")/kafka-run-class.sh" ${EXTRA_ARGS--name kafkaServer -loggc} kafka.Kafka "$@"

#!/bin/sh
# kafka-run-class.sh [-name NAME] [-loggc] CLASS [ARGUMENT…]: a Java program with Kafka's class path.
# Understands KAFKA_HEAP_OPTS, KAFKA_JVM_PERFORMANCE_OPTS, KAFKA_GC_LOG_OPTS, KAFKA_JMX_OPTS, KAFKA_LOG4J_OPTS,
# KAFKA_OPTS, LOG_DIR and CLASSPATH, as the script of Kafka's own distribution does. So a pod that would fail with
# the public image, say for want of a directory into which the garbage collector's log can be written, fails here.
# The defaults suit many small JVMs on few cores: serial collector, first compiler tier only.
set -eu
home=$(cd "$(dirname "$0")/.." && pwd)
log_dir=${LOG_DIR:-$home/logs}
log_config=${KAFKA_LOG_CONFIG:-tools-log4j}   # the server's script says log4j
kafka_libs=$home/libs/*
[ -z "${KAFKA_TOOLS_FIRST:-}" ] || kafka_libs=$home/tools-libs/*:$kafka_libs   # they may be of another release
name=kafka gc_log=
while [ $# -gt 0 ]; do
  case $1 in
    -name) name=$2; shift 2 ;;
    -loggc) gc_log=yes; shift ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || { echo "usage: $0 [-name NAME] [-loggc] CLASS [ARGUMENT…]" >&2; exit 1; }
if [ -z "${KAFKA_LOG4J_OPTS:-}" ]; then
  if [ -f "$home/config/${log_config}2.yaml" ]; then
    KAFKA_LOG4J_OPTS=-Dlog4j2.configurationFile=$home/config/${log_config}2.yaml
  else
    KAFKA_LOG4J_OPTS=-Dlog4j.configuration=file:$home/config/$log_config.properties
  fi
fi
if [ -n "$gc_log" ]; then
  mkdir -p "$log_dir" || true   # as in Kafka's own script, it is the JVM that fails on a directory not to be had
  : "${KAFKA_GC_LOG_OPTS:=-Xlog:gc*:file=$log_dir/$name-gc.log:time,tags:filecount=10,filesize=100M}"
fi
# shellcheck disable=SC2086 # these hold several options each
exec "${JAVA_HOME:+$JAVA_HOME/bin/}java" \
  ${KAFKA_HEAP_OPTS:--Xmx256M} \
  ${KAFKA_JVM_PERFORMANCE_OPTS:--XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError} \
  ${KAFKA_GC_LOG_OPTS:-} ${KAFKA_JMX_OPTS:-} -Dkafka.logs.dir="$log_dir" $KAFKA_LOG4J_OPTS \
  -cp "${CLASSPATH:+$CLASSPATH:}$kafka_libs" ${KAFKA_OPTS:-} "$@"

#!/bin/sh
exec python3 /opt/kafka/lib/answers.py "$@"

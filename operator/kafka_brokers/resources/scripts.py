"""The scripts that pods of brokers run, in plain `sh` with tools that every image has. One formats; others compare.

They follow the rules of `kafka_quorum.resources.scripts`, for several volumes at once. A volume is empty only if its
mount exists, and listing it, and the log directory in it, both succeed. If anything else hides the content from a
script, the volume is `unreadable`. Nothing is formatted, and Kafka is not started, unless every volume is as expected.

Each reports what it found on all volumes in one line of JSON, as the container's termination message. The formatter
writes its intent on a volume, flushed to disk, before Kafka's tool writes a byte there. Only files with this exact
intent beside them, and without `meta.properties`, are half a format of ours, and may be wiped.

A disk of a broker that used ZooKeeper has `broker.id` in place of `node.id` (version 0 of `meta.properties`). Kafka
keeps that version when the broker uses KRaft (measured on 3.9.2), so both are understood in both modes.

Variables: `KQ_VOLUMES` counts the volumes, `KQ_DIRECTORY_ID_N` is the expected directory id of volume N, empty for one
that has none yet, `KQ_LOG_DIR_N` the name of its log directory if it is not the usual one, and `KQ_INTENT_N` names the
format of volume N.
"""

from typing import Final

from kafka_brokers.model.names import DIRECTORY
from kafka_brokers.resources.properties import DATA_PATH, LATE_FILE, LATE_PATH
from kafka_quorum.model.contract import SASL_KEY, SECRET_PATH
from kafka_quorum.model.zookeeper import ZooKeeperAccess
from kafka_quorum.resources import zookeeper

SCRIPT: Final = 1
"""The number that the scripts put into reports."""
RUN_CONFIG: Final = "/tmp/server.properties"  # noqa: S108 - in the pod's own emptyDir
_INTENT: Final = ".kafka-quorum-format"

_COMMON: Final = f"""\
set -u
all=$(i=0; while [ $i -lt "$KQ_VOLUMES" ]; do printf '%s ' $i; i=$((i + 1)); done)
of() {{ eval "printf '%s' \\"\\${{KQ_$1_$i:-}}\\""; }}   # the variable of this kind of the present volume
value() {{ printf '%s\\n' "$meta" | sed -n "s/^$1=//p" | tr -cd 'A-Za-z0-9_.-' | cut -c1-32; }}
list() {{ listed=$(ls -a "$1/" 2>&1) && has .; }}   # every directory names itself: one that does not was not read
has() {{ printf '%s\\n' "$listed" | grep -qxF -e "$1"; }}
mounted() {{ cut -d ' ' -f 5 /proc/self/mountinfo | grep -qxF -e "$root"; }}
unreadable() {{ found=unreadable why=$1; }}
look() {{   # at volume $1
  i=$1 root={DATA_PATH}-$1 intent={DATA_PATH}-$1/{_INTENT}
  dir=$(of LOG_DIR)
  dir=$root/${{dir:-{DIRECTORY}}}
  found=empty cluster= node= directory= why=
  if ! mounted; then unreadable "no volume is mounted at $root"
  elif ! list "$root"; then unreadable "$root cannot be listed: $listed"
  elif ! has "${{dir##*/}}"; then :
  elif [ -f "$dir" ]; then found=partial
  elif ! list "$dir"; then unreadable "$dir cannot be listed: $listed"
  elif has meta.properties; then
    if meta=$(cat "$dir/meta.properties" 2>&1); then
      found=formatted cluster=$(value cluster.id) node=$(value node.id) directory=$(value directory.id)
      [ -n "$node" ] || node=$(value broker.id)
    else unreadable "$dir/meta.properties cannot be read: $meta"
    fi
  elif printf '%s\\n' "$listed" | grep -qvxF -e . -e ..; then found=partial
  fi
}}
row() {{
  printf '{{"index":%s,"found":"%s",' "$i" "$found"
  printf '"clusterID":"%s","nodeID":"%s","directoryID":"%s"}}' "$cluster" "$node" "$directory"
}}
report() {{   # $1: accepted; $2: a sentence; $3: the rows
  said=$(printf '%s' "$2" | tr '\\n\\t' '  ' | tr -cd ' -~' | tr -d '"\\\\' | tail -c 900)
  printf '{{"script":{SCRIPT},"volumes":[%s],"accepted":%s,"message":"%s"}}\\n' "$3" "$1" "$said" |
    tee /dev/termination-log
}}
is_ours() {{ [ "$cluster" = "$KQ_CLUSTER_ID" ] && [ "$node" = "$KQ_NODE_ID" ] && [ -n "$directory" ]; }}
here() {{   # what is on the present volume, in words
  if [ $found = formatted ]; then echo "found node $node of cluster $cluster with directory id $directory"
  elif [ $found = partial ]; then echo "found files and no meta.properties"
  else echo "it is $found${{why:+: $why}}"
  fi
}}
"""

_BEFORE_FORMAT: Final = (
    _COMMON
    + """\
mine() { [ -f "$intent" ] && [ "$(cat "$intent")" = "$(of INTENT)" ]; }
expected() {   # a known directory id must be there; an unknown one must be from a format with our intent
  [ $found = formatted ] && is_ours || return 1
  if [ -n "$(of DIRECTORY_ID)" ]; then [ "$directory" = "$(of DIRECTORY_ID)" ]; else mine; fi
}
judge() {   # sets rows, and wrong: why the format must not go on, todo: the volumes to format
  rows= wrong= todo= half=
  for each in $all; do
    look "$each"
    if expected; then :
    elif [ -z "$(of DIRECTORY_ID)" ] && [ $found = empty ]; then todo="$todo $i"
    elif [ -z "$(of DIRECTORY_ID)" ] && [ $found = partial ] && mine; then todo="$todo $i" half="$half $i"
    else wrong="${wrong:+$wrong; }volume $i was expected ${KQ_WHAT:-} with directory id $(of DIRECTORY_ID), $(here)"
    fi
    rows="${rows:+$rows,}$(row)"
  done
}
KQ_WHAT="for broker $KQ_NODE_ID of cluster $KQ_CLUSTER_ID"
judge
if [ -n "$wrong" ]; then report false "$wrong" "$rows"; exit 1; fi
if [ -z "$todo" ]; then report true "formatted already" "$rows"; exit 0; fi
for each in $half; do look "$each"; rm -rf "$dir"; done
for each in $todo; do
  look "$each"
  printf '%s' "$(of INTENT)" > "$intent.new" && sync && mv "$intent.new" "$intent" && mkdir -p "$dir" && sync || {
    judge; report false "volume $each cannot be written" "$rows"; exit 1
  }
done
"""
)
_AFTER_FORMAT: Final = """\
printf '%s\\n' "$said"
sync
judge
if [ $code = 0 ] && [ -z "$wrong$todo" ]; then report true "formatted" "$rows"; exit 0; fi
report false "kafka-storage.sh ended with $code: ${wrong:+$wrong; }$said" "$rows"
exit 1
"""

FORMAT: Final = (
    _BEFORE_FORMAT
    + """\
said=$(/opt/kafka/bin/kafka-storage.sh format --config "$KQ_CONFIG" "--cluster-id=$KQ_CLUSTER_ID" \\
  --ignore-formatted 2>&1)
code=$?
"""
    + _AFTER_FORMAT
)

_WRITE_META: Final = """\
write_meta() {   # version 0 for the present volume, with directory id $1; it is there as a whole, or not at all
  printf 'version=0\\nbroker.id=%s\\ncluster.id=%s\\ndirectory.id=%s\\n' "$KQ_NODE_ID" "$KQ_CLUSTER_ID" "$1" \\
    > "$dir/meta.properties.new" && sync && mv "$dir/meta.properties.new" "$dir/meta.properties" && sync
}
new_id() {   # Kafka's tool generates it: some ids are reserved
  id=$(/opt/kafka/bin/kafka-storage.sh random-uuid | tail -n 1)
  printf '%s' "$id" | grep -qxE '[A-Za-z0-9_-]{22}'
}
"""

FORMAT_ZOOKEEPER: Final = (
    _WRITE_META
    + _BEFORE_FORMAT
    + """\
said= code=0
for each in $todo; do
  look "$each"
  new_id || { code=1 said="no directory id was generated: $id"; break; }
  write_meta "$id" || { code=1 said="volume $each cannot be written"; break; }
done
"""
    + _AFTER_FORMAT
)
"""Kafka's tool formats for KRaft only, and a broker that uses ZooKeeper refuses such a disk (measured on 3.9.2)."""

ADOPT: Final = (
    _COMMON
    + _WRITE_META
    + """\
is_expected() {   # the directory id may be missing
  [ $found = formatted ] && [ "$cluster" = "$KQ_CLUSTER_ID" ] && [ "$node" = "$KQ_NODE_ID" ] || return 1
  [ -z "$(of DIRECTORY_ID)" ] || [ "$directory" = "$(of DIRECTORY_ID)" ]
}
judge() {   # sets rows, and wrong
  rows= wrong=
  for each in $all; do
    look "$each"
    wanted="node $KQ_NODE_ID of cluster $KQ_CLUSTER_ID in $dir"
    is_expected || wrong="${wrong:+$wrong; }volume $i: expected $wanted, $(here)"
    rows="${rows:+$rows,}$(row)"
  done
}
judge
if [ -n "$wrong" ]; then report false "$wrong" "$rows"; exit 1; fi
for each in $all; do
  look "$each"
  [ -z "$directory" ] || continue
  if [ "$(value version)" = 1 ]; then report false "volume $each has version 1 and no directory id" "$rows"; exit 1; fi
  new_id || { report false "no directory id was generated: $id" "$rows"; exit 1; }
  write_meta "$id" || { report false "volume $each cannot be written" "$rows"; exit 1; }
done
judge
for each in $all; do look "$each"; is_ours || wrong="${wrong:+$wrong; }volume $each has no directory id"; done
if [ -n "$wrong" ]; then report false "$wrong" "$rows"; exit 1; fi
report 'true,"adopted":true' "node $KQ_NODE_ID of cluster $KQ_CLUSTER_ID is adopted" "$rows"
"""
)
"""Formats nothing. It adds a directory id to a disk that has none: brokers that use ZooKeeper keep it (measured)."""

_VERIFY: Final = (
    _COMMON
    + """\
rows= wrong=
for each in $all; do
  look "$each"
  if [ $found = formatted ] && is_ours && [ "$directory" = "$(of DIRECTORY_ID)" ]; then :
  else
    wanted="node $KQ_NODE_ID of cluster $KQ_CLUSTER_ID with directory id $(of DIRECTORY_ID)"
    wrong="${wrong:+$wrong; }volume $i: expected $wanted, $(here)"
  fi
  rows="${rows:+$rows,}$(row)"
done
if [ -z "$rows" ]; then wrong="no volume is expected"; fi
if [ -n "$wrong" ]; then report false "$wrong" "$rows"; exit 1; fi
"""
)

VERIFY: Final = _VERIFY + 'report true "as expected" "$rows"\n'

LATE: Final = f"""\
until [ -s {LATE_PATH}/{LATE_FILE} ]; do sleep 1; done
"""
"""Waits until the operator has written the properties that are known only after the pod was scheduled."""

_START: Final = "exec /opt/kafka/bin/kafka-server-start.sh"
RUN: Final = _VERIFY + f'{_START} "$KQ_CONFIG"\n'
"""A restart of only the container runs no init container, so Kafka's own container compares too."""

RUN_LATE: Final = (
    _VERIFY
    + LATE
    + f"""\
cat "$KQ_CONFIG" {LATE_PATH}/{LATE_FILE} > {RUN_CONFIG} || exit 1   # of two lines with one key, the last counts
{_START} {RUN_CONFIG}
"""
)

SECURED_PATH: Final = "/etc/kafka-secured"
"""Where properties with a password are written: a volume in memory."""
SECURED_CONFIG: Final = f"{SECURED_PATH}/server.properties"


def run_secured(keys: tuple[str, ...], *, late: bool) -> str:
    """The start of a broker that needs these keys of the contract's Secret."""
    return f"{_VERIFY}{LATE if late else ''}{_waits(keys)}{_started((), keys, late=late)}"


def _waits(keys: tuple[str, ...]) -> str:
    """Lines that wait for these files: a volume shows a change of its Secret a minute later."""
    return "".join(f"until [ -s {SECRET_PATH}/{key} ]; do sleep 1; done\n" for key in keys)


def _started(files: tuple[str, ...], keys: tuple[str, ...], *, late: bool) -> str:
    """Lines that start Kafka with the properties, and those of these files. A password is added in memory only."""
    login = (f"{SECRET_PATH}/{SASL_KEY}",) if SASL_KEY in keys else ()
    added = (*files, *((f"{LATE_PATH}/{LATE_FILE}",) if late else ()), *login)
    if not added:
        return f'{_START} "$KQ_CONFIG"\n'
    config = SECURED_CONFIG if login else RUN_CONFIG
    return f'cat "$KQ_CONFIG" {" ".join(added)} > {config} || exit 1\n{_START} {config}\n'


_LIKE_ZOOKEEPER: Final = (
    _WRITE_META
    + """\
for each in $all; do   # each is as expected
  look "$each"
  rm -rf "$dir/__cluster_metadata-0" || exit 1
  [ "$(value version)" != 1 ] || write_meta "$directory" || exit 1
done
"""
)
"""What a disk must be like for a broker that uses ZooKeeper. It changes nothing if the disk is so already.

A broker that goes back from KRaft has a copy of the metadata log, which must not be there when it uses KRaft again. One
that was formatted for KRaft has version 1 of `meta.properties`, which only a broker that migrates accepts (measured).
"""


def run_with_zookeeper(access: ZooKeeperAccess, *, late: bool, keys: tuple[str, ...] = ()) -> str:
    """The start of a broker that uses ZooKeeper; `late`: it has properties that come after it was scheduled."""
    before = f"{_VERIFY}{_LIKE_ZOOKEEPER}{zookeeper.shell(access)}{LATE if late else ''}{_waits(keys)}"
    return f"{before}{_started(zookeeper.files(access), keys, late=late)}"

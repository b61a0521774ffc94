"""The two scripts that pods run, in plain `sh` with tools that every image has: one formats, one compares. Never both.

A disk is empty only if its mount exists, and listing it, and the log directory in it, both succeed. If anything else
hides the content from a script (no permission, a stale handle, a failing device), the disk is `unreadable`.

The report has the *place*: number and birth time of the root directory of the volume, and the id of its file system, if
the file system and the image's `stat` show all of them. A directory that stands in for a volume has another place. An
emptied volume keeps its own. A volume without the log directory that holds anything else has none: it may be the data.

Both report what they found on the disk in one line of JSON, as the container's termination message. The formatter
writes its intent, flushed to disk, before Kafka's tool writes a byte. Only files with this exact intent beside them,
and without `meta.properties`, are half a format of ours, and may be wiped. Kafka's tool writes `meta.properties` last.
"""

from typing import Final

from kafka_quorum.model.disk import SCRIPT
from kafka_quorum.model.zookeeper import ZooKeeperAccess
from kafka_quorum.resources import zookeeper
from kafka_quorum.resources.properties import DATA_PATH, LOG_DIR

RECOVERY_MARK: Final = f"{DATA_PATH}/.kafka-quorum-recovery"
"""The epoch of the recovery that a disk was formatted or rewritten in; a disk without this file has epoch 0.

Each Kafka pod is made for one epoch, and starts on no disk of another one: neither an earlier disk in a quorum that was
recovered, nor a recovered disk in a pod of the time before.
"""
_COMMON: Final = f"""\
set -u
root={DATA_PATH}
dir={LOG_DIR}
intent={DATA_PATH}/.kafka-quorum-format
mark={RECOVERY_MARK}
value() {{ printf '%s\\n' "$meta" | sed -n "s/^$1=//p" | tr -cd 'A-Za-z0-9_.-' | cut -c1-64; }}
list() {{ listed=$(ls -a "$1/" 2>&1) && has .; }}   # every directory names itself: one that does not was not read
has() {{ printf '%s\\n' "$listed" | grep -qxF -e "$1"; }}
mounted() {{ cut -d ' ' -f 5 /proc/self/mountinfo | grep -qxF -e "$root"; }}
unreadable() {{ found=unreadable why=$1; }}
look() {{
  found=empty cluster= node= directory= why= recovery=0
  place=$(stat -c '%i:%W' "$root/" 2>/dev/null):$(stat -f -c %i "$root/" 2>/dev/null)
  printf '%s\\n' "$place" | grep -qxE '[1-9][0-9]{{0,19}}:[1-9][0-9]{{0,19}}:0*[1-9a-f][0-9a-f]{{0,15}}' || place=
  if ! mounted; then unreadable "no volume is mounted at $root"
  elif ! list "$root"; then unreadable "$root cannot be listed: $listed"
  elif has "${{mark##*/}}" && ! recovery=$(cat "$mark" 2>&1); then unreadable "$mark cannot be read: $recovery"
  elif ! has "${{dir##*/}}"; then
    ! printf '%s\\n' "$listed" | grep -qvxF -e . -e .. -e lost+found -e "${{intent##*/}}" -e "${{mark##*/}}" || place=
  elif [ -f "$dir" ]; then found=partial
  elif ! list "$dir"; then unreadable "$dir cannot be listed: $listed"
  elif has meta.properties; then
    if meta=$(cat "$dir/meta.properties" 2>&1); then
      found=formatted cluster=$(value cluster.id) node=$(value node.id) directory=$(value directory.id)
    else unreadable "$dir/meta.properties cannot be read: $meta"
    fi
  elif printf '%s\\n' "$listed" | grep -qvxF -e . -e ..; then found=partial
  fi
}}
report() {{
  said=$(printf '%s' "$2" | tr '\\n\\t' '  ' | tr -cd ' -~' | tr -d '"\\\\' | tail -c 1500)
  ids=$(printf '"clusterID":"%s","nodeID":"%s","directoryID":"%s"' "$cluster" "$node" "$directory")
  printf '{{"script":{SCRIPT},"found":"%s",%s,"place":"%s","mode":"%s","accepted":%s,"message":"%s"}}\\n' \\
    "$found" "$ids" "$place" "$KQ_MODE" "$1" "$said" | tee /dev/termination-log
}}
"""

FORMAT: Final = (
    _COMMON
    + """\
mine() { [ -f "$intent" ] && [ "$(cat "$intent")" = "$KQ_INTENT" ]; }
expected() {
  [ "$cluster" = "$KQ_CLUSTER_ID" ] && [ "$node" = "$KQ_NODE_ID" ] && mine || return 1
  [ -z "$KQ_DIRECTORY_ID" ] || [ "$directory" = "$KQ_DIRECTORY_ID" ]
}
flush() { sync "$@" 2>/dev/null || sync; }   # these alone: a sync of all would stop every other disk of the node
look
if [ $found = formatted ]; then
  if expected; then flush "$dir" "$dir"/* "$dir"/*/*; report true "formatted already"; exit 0; fi
  report false "the disk holds controller $node of cluster $cluster with directory id $directory: another format's"
  exit 1
fi
if [ $found = unreadable ]; then report false "the disk cannot be read: $why"; exit 1; fi
if [ $found = partial ]; then
  if mine; then rm -rf "$dir"
  else report false "files without meta.properties, and no intent of this formatter beside them"; exit 1
  fi
fi
put() {   # a new file each time: a link of that name could lead to any other file
  rm -f "$1.new" && { [ ! -L "$1" ] || rm -f "$1"; } && printf '%s' "$2" > "$1.new" && flush "$1.new" &&
    mv "$1.new" "$1"
}
marked() { [ "${KQ_RECOVERY:-0}" = 0 ] || put "$mark" "$KQ_RECOVERY"; }
put "$intent" "$KQ_INTENT" && marked && mkdir -p "$dir" && flush "$root" "$dir" || {
  look; report false "the volume cannot be written"; exit 1
}
said=$(/opt/kafka/bin/kafka-storage.sh format --config "$KQ_CONFIG" "--cluster-id=$KQ_CLUSTER_ID" "$@" 2>&1)
code=$?
printf '%s\\n' "$said"
flush "$dir" "$dir"/* "$dir"/*/*
look
if [ $code = 0 ] && [ $found = formatted ] && expected; then report true "formatted"; exit 0; fi
[ $found != partial ] || found=empty   # what is there is half a format of ours
report false "kafka-storage.sh ended with $code: $said"
exit 1
"""
)

_VERIFY: Final = (
    _COMMON
    + """\
look
if [ $found = formatted ] && [ "$cluster" = "$KQ_CLUSTER_ID" ] && [ "$node" = "$KQ_NODE_ID" ] &&
  [ "$directory" = "$KQ_DIRECTORY_ID" ] && [ "$recovery" = "${KQ_RECOVERY:-0}" ]; then accepted=true
else
  here="controller $KQ_NODE_ID of cluster $KQ_CLUSTER_ID with directory id $KQ_DIRECTORY_ID was expected"
  if [ $found = formatted ]; then
    here="$here, found controller $node of cluster $cluster with directory id $directory"
    [ "$recovery" = "${KQ_RECOVERY:-0}" ] ||
      here="$here; the disk is of recovery $recovery, and this pod is for recovery ${KQ_RECOVERY:-0}"
  elif [ $found = partial ]; then here="$here, but the disk has files and no meta.properties"
  else here="$here, but the disk is $found${why:+: $why}"
  fi
  report false "$here"
  exit 1
fi
"""
)

ADOPT: Final = (
    _COMMON
    + """\
look
here="controller $node of cluster $cluster with directory id $directory"
if [ $found = formatted ] && [ "$cluster" = "$KQ_CLUSTER_ID" ] && [ "$node" = "$KQ_NODE_ID" ] && [ -n "$directory" ] &&
  { [ -z "$KQ_DIRECTORY_ID" ] || [ "$directory" = "$KQ_DIRECTORY_ID" ]; }; then
  report true "$here is taken over"; exit 0
fi
[ $found = formatted ] || here="a disk that is $found${why:+ ($why)}"
report false "controller $KQ_NODE_ID of cluster $KQ_CLUSTER_ID was to be taken over, and $here was found"
exit 1
"""
)
"""Only reads: a disk that was formatted by other means shows which controller it belongs to."""

VERIFY: Final = _VERIFY + 'report true "as expected"\n'

RUN: Final = _VERIFY + 'exec /opt/kafka/bin/kafka-server-start.sh "$KQ_CONFIG"\n'
"""A restart of only the container runs no init container, so Kafka's own container compares too."""


def run(access: ZooKeeperAccess | None, secret_files: tuple[str, ...]) -> str:
    """The same, with what comes from Secrets when the container starts: for ZooKeeper, and lines of properties."""
    files = (*secret_files, *(() if access is None else zookeeper.files(access)))
    if not files:
        return RUN
    before = "" if access is None else zookeeper.shell(access)
    all_ = " ".join(('"$KQ_CONFIG"', *files))
    start = f"cat {all_} > {_PROPERTIES} && exec /opt/kafka/bin/kafka-server-start.sh {_PROPERTIES}\n"
    return f"{_VERIFY}{before}{start}"


_PROPERTIES: Final = "/tmp/server.properties"  # noqa: S108 - the pod's own emptyDir

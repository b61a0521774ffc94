"""Options of the Java process that the operator owns, or with which no controller would run."""

from typing import Final

_HEAP: Final = ("-Xmx", "-Xms", "-XX:MaxHeapSize", "-XX:InitialHeapSize", "-XX:MinHeapSize")
_FILES: Final = ("-XX:Flags=", "-XX:VMOptionsFile=")
_ENDING: Final = frozenset(
    {
        "-?",
        "-X",
        "-h",
        "-help",
        "-version",
        "-fullversion",
        "--dry-run",
        "--full-version",
        "--help",
        "--help-extra",
        "--list-modules",
        "--validate-modules",
        "--version",
    }
)
_STARTING: Final = frozenset(
    {"-jar", "-m", "--module", "-cp", "-classpath", "--class-path", "-d", "--describe-module", "--source"}
)
_STARTING_WITH: Final = ("--module=", "--class-path=", "--describe-module=", "--source=")


def refused(option: str) -> str | None:
    """Why this option cannot stand; None if it can."""
    if option.startswith(_HEAP):
        return "the heap belongs to jvm.heap: remove this option"
    if option.startswith(_FILES):
        return "options from a file could set the heap: name the options themselves"
    if option in _ENDING:
        return "Java would print something and end, and no controller would run: remove this option"
    if option in _STARTING or option.startswith(_STARTING_WITH):
        return "Java would run something else than Kafka: remove this option"
    return None

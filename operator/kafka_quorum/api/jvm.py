"""Java options that the operator owns, and options with which Kafka would not run.

They are checked in every place from which Java reads them: `jvm.options`, and every variable that Java or Kafka's
scripts read.
"""

import re
from collections.abc import Iterator
from typing import Final

KAFKAS_VARIABLES: Final = ("KAFKA_JMX_OPTS", "KAFKA_JVM_PERFORMANCE_OPTS")
"""Variables whose words Kafka's scripts put on Java's command line, and that a template may set."""
JAVAS_VARIABLES: Final = (
    "IBM_JAVA_OPTIONS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "OPENJ9_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
)
"""Variables that Java itself reads, with quotation marks around what has spaces."""

_HEAP: Final = ("-Xmx", "-Xms", "-mx", "-ms", "-XX:MaxHeapSize", "-XX:InitialHeapSize", "-XX:MinHeapSize")
_FILES: Final = ("-XX:Flags=", "-XX:VMOptionsFile=", "@")
_ENDING: Final = frozenset(
    {
        "-?",
        "-X",
        "-XX:+DumpSharedSpaces",
        "-XX:+PrintFlagsInitial",
        "-XX:+PrintFlagsWithComments",
        "-XX:AOTMode=create",
        "-Xinternalversion",
        "-Xlog:help",
        "-Xshare:dump",
        "-agentlib:jdwp=help",
        "-Xrunjdwp:help",
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
_TAKING_A_VALUE: Final = frozenset(
    {
        "-p",
        "--add-exports",
        "--add-modules",
        "--add-opens",
        "--add-reads",
        "--enable-native-access",
        "--limit-modules",
        "--module-path",
        "--patch-module",
        "--upgrade-module-path",
    }
)
"""Options whose value may be the next word."""


def refused(option: str) -> str | None:
    """Why this option is not allowed as one word; None if it is."""
    if option.startswith(_HEAP):
        return "the heap belongs to jvm.heap: remove this option"
    if option.startswith(_FILES):
        return "options from a file could set the heap: list the options themselves"
    if option in _ENDING:
        return "Java would print something and exit, so Kafka would not run: remove this option"
    if option in _STARTING or option.startswith(_STARTING_WITH):
        return "Java would not run Kafka: remove this option"
    if option in _TAKING_A_VALUE:
        return "Java would take the next word as its value: write it with its value, as in --add-modules=jdk.net"
    return None


def variable_faults(name: str, text: str) -> Iterator[str]:
    """The faults of the options in the text of one of the variables above, one sentence for each option."""
    words = _quoted_words(text) if name in JAVAS_VARIABLES else text.split()
    if words is None:
        yield "a quotation mark is not closed, and Java would not start: correct it"
        return
    left = iter(words)
    for word in left:
        if word in _TAKING_A_VALUE:
            value = next(left, None)
            if value is None or value.startswith(_FILES):
                yield f"{word}: the next word must be its value, and not @FILE: add the value, or remove this option"
        elif (why := refused(word)) is not None:
            yield f"{word}: {why}"
        elif not word.startswith("-"):
            yield f"{word}: it does not begin with '-', so Java would run it as the main class: correct or remove it"


def _quoted_words(text: str) -> list[str] | None:
    """The words of a variable as Java splits them, without escapes; None if a quotation mark stays open."""
    quoted = r"'[^']*'|\"[^\"]*\""
    if re.fullmatch(rf"(?:[^'\"]|{quoted})*", text) is None:
        return None
    words = re.findall(rf"(?:[^\s'\"]|{quoted})+", text)
    return [re.sub(quoted, lambda found: found[0][1:-1], word) for word in words]

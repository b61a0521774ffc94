"""The pages of the repository: their links have targets, each page is linked, and all have the same version."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kafka_quorum.wire.requests.api_versions import CLIENT_SOFTWARE_VERSION

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.md")})
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")


def prose(page: Path) -> str:
    """The text without its blocks and spans of code, which may look like links."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "code", text)


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """The files of this repository that a page links to, and the heading in them; empty for none."""
    for target in LINK.findall(prose(page)):
        if not re.match(r"[a-z]+:", target):
            path, _, heading = target.partition("#")
            yield (page.parent / path).resolve() if path else page, heading


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found: list[str] = []
    for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        found.append(f"{name}-{found.count(name)}" if name in found else name)
    return set(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link names a file that exists, and a heading that the file has."""
    wrong = [
        f"{target.relative_to(ROOT)}#{heading}"
        for target, heading in links(page)
        if not target.exists() or (heading and heading not in anchors(target))
    ]
    assert wrong == []


def test_every_page_is_linked() -> None:
    """Every page of docs/ is linked from another page."""
    linked = {target for page in PAGES for target, _ in links(page) if target != page}
    assert [
        str(page.relative_to(ROOT)) for page in PAGES if page.is_relative_to(ROOT / "docs") and page not in linked
    ] == []


def test_a_wrong_link_is_noticed(tmp_path: Path) -> None:
    """Links in code are ignored; other links are found with their headings, and repeated headings are numbered."""
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b`, c\n## X\n## X\n[one](gone.md#x) `[two](no.md)` [three](#x-1) [four](https://example.org)\n"
    )
    assert list(links(page)) == [(tmp_path / "gone.md", "x"), (page, "x-1")]
    assert anchors(page) == {"a-b-c", "x", "x-1"}


def test_one_version() -> None:
    """The package, the chart, the client's name for Kafka, and the commands in the pages have one version."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    chart = yaml.safe_load((ROOT / "helm" / "kafka-quorum-operator" / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"], CLIENT_SOFTWARE_VERSION) == (version, version, version)
    images = [
        found
        for page in ("README.md", "docs/install.md", "helm/install.yaml")
        for found in re.findall(r"kafka-quorum-operator:(\d[\w.]*)|image\.tag=(\d[\w.]*)", (ROOT / page).read_text())
    ]
    assert len(images) >= 4
    assert {one or other for one, other in images} == {version}


def test_pages_name_files_that_exist() -> None:
    """A path of the operator, the tests or e2e that a page shows as code exists."""
    shown = {
        (page, path)
        for page in PAGES
        if page.name != "CHANGELOG.md"
        for path in re.findall(r"`((?:operator|tests|e2e|docs|helm|crds)/[\w./-]+\w)/?`", page.read_text())
    }
    assert len(shown) > 20
    assert [f"{page.name}: {path}" for page, path in sorted(shown) if not (ROOT / path).exists()] == []


def test_glossary_names_what_the_code_has() -> None:
    """Every name that the glossary gives for a word is in the operator's source."""
    source = "\n".join(path.read_text() for path in (ROOT / "operator").rglob("*.py"))
    rows = re.findall(
        r"^\|(?: [^|\n]+ \|){2}( [^|\n]+ )\|$", (ROOT / "docs" / "glossary.md").read_text(), flags=re.MULTILINE
    )
    names = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert len(names) > 50
    last = {name: re.split(r"[./…]", name)[-1] for name in names}
    assert sorted(name for name, word in last.items() if not re.search(rf"\b{re.escape(word)}\b", source)) == []

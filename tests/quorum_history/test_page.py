"""The history's pages in a real browser: accessible to all readers, on a telephone, a screen and paper."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.quorum_history import fleets, page_checks
from tests.quorum_history.browser import Browser, installed

from quorum_history import report
from quorum_history.concerns import Tables

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1200)]

_WEEK = (datetime(2026, 3, 10, tzinfo=UTC), datetime(2026, 3, 17, tzinfo=UTC))
_PAGES: dict[str, Callable[[Path], Path]] = {
    "300 quorums": lambda folder: _written(fleets.of(300), folder),
    "300 quorums with a page each": lambda folder: _written(fleets.of(300), folder, pages=True),
    "one of 300": lambda folder: _first(_written(fleets.of(11), folder, pages=True).parent),
    "12 quorums": lambda folder: _written(fleets.of(12), folder),
    "one quorum": lambda folder: _written(fleets.one(), folder),
    "one quorum with every trouble": lambda folder: _written(fleets.troubled(), folder),
    "a chosen week": lambda folder: _written(report.between(fleets.of(20), *_WEEK), folder, chosen=_WEEK),
    "a single chosen quorum": lambda folder: _written(fleets.of(40), folder, quorums=["team-3/orders-010"]),
    "hostile names": lambda folder: _written(fleets.hostile(), folder),
    "an empty history": lambda folder: _written(fleets.empty(), folder),
}
_NO_POLICY = "(?s)<meta http-equiv[^>]*>(.*)</main>"
_CHECKS = ("access", "quiet", "narrow", "links", "tiles", "figures", "paper", "keyboard", "size")


def _written(tables: Tables, folder: Path, **options: object) -> Path:
    return report.write(tables, folder, lambda: fleets.NOW, **options)  # type: ignore[arg-type] # options of a test


def _first(folder: Path) -> Path:
    """The page of the quorum with the most trouble."""
    return next(page for page in sorted(folder.glob("cluster-*.html")) if "orders-010" in page.read_text())


@pytest.fixture(scope="module")
def tools() -> tuple[Path, Path]:
    """The browser and axe-core."""
    return installed()


@pytest.fixture(scope="module")
def browser(tools: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests."""
    with Browser.started(tools[0], tmp_path_factory.mktemp("browser") / "profile") as started:
        yield started


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Each page, written at its first use."""
    pages: dict[str, Path] = {}

    def page(name: str) -> Path:
        if name not in pages:
            pages[name] = _PAGES[name](tmp_path_factory.mktemp("page"))
        return pages[name]

    return page


def _check(name: str, axe: Path) -> page_checks.Check:
    check: page_checks.Check = page_checks.access(axe) if name == "access" else getattr(page_checks, name)
    return check


@pytest.mark.parametrize("check", _CHECKS)
@pytest.mark.parametrize("name", _PAGES)
def test_a_page_is_as_it_should_be(
    name: str, check: str, page_of: Callable[[str], Path], browser: Browser, tools: tuple[Path, Path]
) -> None:
    """Every check finds no fault on every page."""
    assert _check(check, tools[1])(browser, page_of(name)) == []


def _without(pattern: str, instead: str = "") -> Callable[[str], str]:
    """Removes a pattern from a page, in one place or in many."""

    def spoilt(text: str) -> str:
        changed = re.sub(pattern, instead, text)
        assert changed != text, "the pattern is on the page"
        return changed

    return spoilt


@pytest.mark.parametrize(
    ("check", "spoil", "said"),
    [
        ("access", _without(' lang="en"'), "html-has-lang"),
        ("access", _without("--muted:#5f5f5f", "--muted:#a0a0a0"), "light: color-contrast"),
        ("access", _without("--muted:#a8adb3", "--muted:#303030"), "dark: color-contrast"),
        ("access", _without(r' role="img" aria-label="[^"]*"', ' role="img"'), "svg-img-alt"),
        ("access", _without(' tabindex="0"'), "400 light: scrollable-region-focusable"),
        ("quiet", _without("</main>", "<img src='https://example.invalid/x.png'></main>"), "Content Security Policy"),
        ("quiet", _without("</main>", "<script>console.error('said')</script></main>"), "Content Security Policy"),
        ("quiet", _without(_NO_POLICY, r"\1<script>console.error('said')</script></main>"), "said"),
        ("quiet", _without(_NO_POLICY, r"\1<img src='https://example.invalid/x'></main>"), "asked for https://example"),
        ("quiet", _without("<title>[^<]*", "<title>taken"), "took the title"),
        ("narrow", _without(r"\.scroll\{overflow-x:auto\}"), "wide"),
        ("narrow", _without("overflow-wrap:anywhere(?=\\} h1)", "white-space:nowrap"), "wide"),
        ("links", _without(' id="outages"'), "a Outages"),
        ("links", _without('href="#c0"', 'href="cluster-0.html"'), "no file"),
        ("links", _without('id="outages"', 'id="lag"'), "twice: lag"),
        ("tiles", _without("flex-wrap:wrap;gap", "gap"), "out: "),
        ("tiles", _without(r"min-width:7.5rem\}", "width:3rem;white-space:nowrap}"), "cut: "),
        ("tiles", _without("list-style:none}", "list-style:none} .tiles li{margin-right:-2rem}"), "overlaps: "),
        ("figures", _without("min-width:60rem"), "words of "),
        ("figures", _without(r'<text x="2[0-9.]+"', '<text x="1"'), "out: "),
        ("figures", _without(r'(<text x="222.0") y="[0-9.]+"', r'\1 y="50"'), "overlap: "),
        ("paper", _without("details::details-content[^}]*}"), "folded: "),
        ("paper", _without("svg{min-width:0;width:100%}"), "cut: "),
        ("paper", _without("svg{min-width:0;width:100%}", "svg{height:2000px !important}"), "high: "),
        ("paper", _without("@media screen and", "@media all and"), "rgb(22, 24, 27)"),
        ("keyboard", _without("<a href", "<a tabindex='-1' href"), "not reached: "),
        ("keyboard", _without(":focus-visible{[^}]*}", ":focus-visible{outline:none}"), "shows no focus: "),
        ("size", _without("</main>", "x" * page_checks.SIZE_MAX + "</main>"), "bytes"),
    ],
)  # fmt: skip
def test_a_check_notices_a_spoilt_page(
    check: str, spoil: Callable[[str], str], said: str, page_of: Callable[[str], Path], browser: Browser,
    tools: tuple[Path, Path], tmp_path: Path,
) -> None:  # fmt: skip
    """Each check finds its fault on a page that was changed in one way."""
    page = tmp_path / "spoilt.html"
    page.write_text(spoil(page_of("12 quorums").read_text()))
    assert any(said in each for each in _check(check, tools[1])(browser, page))

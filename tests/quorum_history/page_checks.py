"""Checks of every page of the history in a browser. Each check returns the faults that it found, as sentences.

Widths are in CSS pixels: a telephone has 400, and a sheet of A4 with the margins of the page's style 703 by 1031.
"""

import json
from collections.abc import Callable
from pathlib import Path

from tests.quorum_history.browser import Browser

NARROW, WIDE = 400, 1400
_PAPER_WIDTH, _PAPER_HEIGHT = 703, 1031
SIZE_MAX = 2_000_000
_TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
_FOCUSABLE = "a[href], summary, [tabindex='0']"

Check = Callable[[Browser, Path], list[str]]

_LABEL = "const label = e => `${e.tagName.toLowerCase()} ${(e.textContent || '').trim().slice(0, 60)}`;"


def _found(browser: Browser, script: str) -> list[str]:
    """The strings that a script's body returns."""
    found = browser.evaluate(f"(() => {{ {_LABEL} {script} }})()")
    return [str(each) for each in found]


def access(axe: Path) -> Check:
    """The page is accessible, as far as axe-core can check: wide and narrow, light and dark."""
    script = axe.read_text()
    options = json.dumps({"runOnly": {"type": "tag", "values": _TAGS}, "resultTypes": ["violations"]})
    run = f"axe.run(document, {options}).then(found => found.violations.map("
    run += "each => `${each.id}, ${each.nodes.length} times: ${each.nodes[0].html.slice(0, 200)}`))"

    def check(browser: Browser, page: Path) -> list[str]:
        wrong = []
        for width, scheme in ((WIDE, "light"), (NARROW, "light"), (WIDE, "dark")):
            browser.open(page, width=width)
            browser.emulate(scheme=scheme)
            browser.evaluate(f"{script};0")
            wrong += [f"{width} {scheme}: {each}" for each in browser.evaluate(run)]
        return wrong

    return check


def quiet(browser: Browser, page: Path) -> list[str]:
    """The console has no errors or warnings, only the page's own address is requested, and no text is executed."""
    browser.open(page)
    asked = [each for each in browser.requests if each != page.as_uri()]
    ran = ["a text took the title"] if browser.evaluate("document.title") == "taken" else []
    return [*browser.errors, *(f"asked for {each}" for each in asked), *ran]


def narrow(browser: Browser, page: Path) -> list[str]:
    """On a telephone the page scrolls only downwards; wider content scrolls by itself."""
    browser.open(page, width=NARROW)
    return _found(
        browser,
        """const root = document.documentElement, wide = Math.max(root.scrollWidth, document.body.scrollWidth);
        const out = [...document.querySelectorAll('body *')].filter(e => !e.parentElement.closest('.scroll'))
            .filter(e => e.getBoundingClientRect().right > innerWidth + 1);
        return [...(wide > innerWidth ? [`the page is ${wide} wide`] : []), ...out.slice(0, 5).map(label)];""",
    )


def links(browser: Browser, page: Path) -> list[str]:
    """The target of every link exists: on the page, or as a file beside it."""
    browser.open(page)
    wrong = _found(
        browser,
        """return [...document.querySelectorAll('a[href^="#"]')]
            .filter(e => !document.getElementById(e.getAttribute('href').slice(1))).map(label);""",
    )
    files = _found(browser, "return [...document.querySelectorAll('a:not([href^=\"#\"])')].map(e => e.pathname);")
    twice = _found(
        browser,
        """const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
        return ids.filter((id, place) => ids.indexOf(id) !== place);""",
    )
    return [*wrong, *(f"no file {each}" for each in files if not Path(each).is_file()), *(f"twice: {i}" for i in twice)]


def tiles(browser: Browser, page: Path) -> list[str]:
    """No tile overlaps another one, is outside the window, or cuts its text."""
    wrong = []
    for width in (NARROW, WIDE):
        browser.open(page, width=width)
        wrong += _found(
            browser,
            """const all = [...document.querySelectorAll('.tiles li')], wrong = all.length < 8 ? ['too few tiles'] : [];
            const boxes = all.map(e => e.getBoundingClientRect());
            all.forEach((e, n) => {
                const range = document.createRange(); range.selectNodeContents(e);
                const text = range.getBoundingClientRect(), box = boxes[n];
                if (text.right > box.right || text.left < box.left || text.bottom > box.bottom)
                    wrong.push('cut: ' + label(e));
                if (box.right > innerWidth) wrong.push('out: ' + label(e));
                boxes.slice(n + 1).forEach(o => {
                    if (box.left < o.right && o.left < box.right && box.top < o.bottom && o.top < box.bottom)
                        wrong.push('overlaps: ' + label(e)); });
            });
            return wrong;""",
        )
    return wrong


def figures(browser: Browser, page: Path) -> list[str]:
    """The words in figures are inside them, do not overlap, and are large enough to read in any window."""
    browser.open(page, width=NARROW)
    return _found(
        browser,
        """const wrong = [];
        document.querySelectorAll('svg').forEach(svg => {
            const [, , width, height] = svg.getAttribute('viewBox').split(' ').map(Number);
            const name = svg.getAttribute('aria-label');
            const texts = [...svg.querySelectorAll('text')], boxes = texts.map(e => e.getBBox());
            const scale = svg.getBoundingClientRect().width / width;
            if (scale * 11 < 9) wrong.push(`words of ${(scale * 11).toFixed(1)} pixels: ${name}`);
            boxes.forEach((b, n) => {
                if (b.x < 0 || b.y < -1 || b.x + b.width > width || b.y + b.height > height + 1)
                    wrong.push('out: ' + label(texts[n]));
                boxes.slice(n + 1).forEach((o, m) => {
                    const beside = b.x + b.width <= o.x + 1 || o.x + o.width <= b.x + 1;
                    if (!beside && b.y + b.height > o.y + 3 && o.y + o.height > b.y + 3)
                        wrong.push('overlap: ' + label(texts[n]) + ' and ' + label(texts[n + 1 + m])); });
            });
        });
        return wrong;""",
    )


def paper(browser: Browser, page: Path) -> list[str]:
    """In print everything is visible: nothing is folded or beyond the edge, and a figure fits one sheet, in light."""
    browser.open(page, width=_PAPER_WIDTH, height=_PAPER_HEIGHT)
    browser.emulate(media="print", scheme="dark")
    wrong = _found(
        browser,
        """const all = [...document.querySelectorAll('body *')];
        const edge = all.filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5);
        const folded = all.filter(e => !e.closest('svg') && !e.checkVisibility({contentVisibilityAuto: true}));
        const high = [...document.querySelectorAll('figure')].filter(e => e.offsetHeight > innerHeight);
        const paint = getComputedStyle(document.body).backgroundColor;
        const dark = paint === 'rgb(255, 255, 255)' ? [] : [paint];
        return [...edge.map(e => 'cut: ' + label(e)), ...folded.slice(0, 5).map(e => 'folded: ' + label(e)),
            ...high.map(e => `${e.offsetHeight} high: ` + label(e)), ...dark];""",
    )
    sheets = page.with_suffix(".pdf")
    browser.pdf(sheets)
    return wrong if sheets.read_bytes().startswith(b"%PDF") else [*wrong, "no PDF"]


def keyboard(browser: Browser, page: Path) -> list[str]:
    """The tabulator key reaches everything that can be used or scrolled, in order, and shows where it is."""
    browser.open(page, width=NARROW)
    browser.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; }), 0")
    count = browser.evaluate(f'document.querySelectorAll("{_FOCUSABLE}").length')
    seen = 'document.querySelectorAll("' + _FOCUSABLE + '")'
    browser.evaluate(f"window.places = [...{seen}]; window.reached = []; window.bare = []; 0")
    browser.evaluate(
        """addEventListener('focusin', () => { const e = document.activeElement; reached.push(places.indexOf(e));
        if (getComputedStyle(e).outlineStyle === 'none') bare.push(e.textContent.slice(0, 60)); }); 0"""
    )
    for _ in range(count):
        browser.press_tab()
    reached, bare = browser.evaluate("[reached, bare]")
    missing = sorted(set(range(count)) - set(reached))
    wrong = [f"not reached: {len(missing)} of {count}"] if missing else []
    if reached != sorted(reached):
        wrong.append("not in order")
    unreachable = _found(
        browser,
        """return [...document.querySelectorAll('.scroll')]
            .filter(e => e.scrollWidth > e.clientWidth && e.tabIndex < 0).map(label);""",
    )
    return [*wrong, *(f"shows no focus: {each}" for each in bare[:5]), *unreachable]


def size(_: Browser, page: Path) -> list[str]:
    """The page is small enough to be sent by mail."""
    stored = page.stat().st_size
    return [f"{stored} bytes"] if stored > SIZE_MAX else []

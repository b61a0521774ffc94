"""One self-contained HTML page: headings with contents, tables, figures and their style, for screens and for paper.

Every text from outside goes through `escaped`. Wide tables and figures scroll by themselves, also by keyboard. Colours
follow the reader's choice of light or dark; paper is always light.
"""

import html
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from quorum_history.concerns import Row, moment, percent

ROWS_SHOWN = 20

_DARK = """--bg:#16181b;--fg:#e6e6e6;--muted:#a8adb3;--line:#3a3f45;--head:#24282d;--link:#8cc8f2;--bad:#33270f;
--fine:#10291f;--unknown:#26292d;--h0:#1d4a3b;--h1:#2f8a69;--h4:#5b6168;--h5:#9a9a9a"""
_STYLE = (
    """
:root{color-scheme:light dark;--bg:#fff;--fg:#222;--muted:#5f5f5f;--line:#ddd;--head:#f3f3f3;--link:#00527f;
--bad:#fff7ea;--fine:#eaf7f1;--unknown:#f0f0f0;--h0:#cde9df;--h1:#7cc4a8;--h4:#c4c4c4;--h5:#767676}
@media screen and (prefers-color-scheme:dark){:root{"""
    + _DARK
    + """}}
*{box-sizing:border-box} body{font:15px/1.5 system-ui,sans-serif;color:var(--fg);background:var(--bg);max-width:66rem;
margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere} h1{font-size:1.6rem} h1,h2,h3{line-height:1.25}
h2{margin-top:2.5rem;border-bottom:1px solid var(--line)} h3{margin-top:1.6rem} a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
table{border-collapse:collapse;font-size:13px;margin:.5rem 0} td,th{padding:.3rem .7rem;text-align:left;
border-bottom:1px solid var(--line);vertical-align:top} th{background:var(--head);overflow-wrap:normal}
td{min-width:4rem;max-width:26rem} td.w{min-width:13rem} td.n,td.t{white-space:nowrap;overflow-wrap:normal}
td.n,th.n{text-align:right} caption,figcaption{text-align:left;color:var(--muted);font-size:13px}
caption span{position:sticky;left:0;display:inline-block;max-width:calc(100vw - 3rem)}
.scroll{overflow-x:auto} figure{margin:.8rem 0} summary{padding:.2rem 0}
.tiles{display:flex;flex-wrap:wrap;gap:.6rem;padding:0;margin:.3rem 0 1rem;list-style:none}
.tiles li{border:1px solid var(--line);border-left:6px solid #767676;padding:.4rem .9rem;min-width:7.5rem}
.tiles b{display:block;font-size:1.5rem;line-height:1.3} .tiles .bad{border-left-color:#d55e00}
.tiles .fine{border-left-color:#009e73} .label{margin:0;color:var(--muted)}
.concerns{background:var(--bad);border-left:4px solid #d55e00;padding:.6rem 2rem}
.fine-box{background:var(--fine);border-left:4px solid #009e73;padding:.6rem 1rem}
.unknown-box{background:var(--unknown);border-left:4px solid #767676;padding:.6rem 1rem}
svg{display:block;min-width:60rem;max-width:100%;height:auto;font:11px system-ui,sans-serif}
svg text{fill:var(--fg)} svg .grid{stroke:var(--line)} svg .h0{fill:var(--h0)} svg .h1{fill:var(--h1)}
svg .h4{fill:var(--h4)} svg .h5{fill:var(--h5)} .muted{color:var(--muted)}
nav ul{padding:0;margin:.3rem 0} nav li{display:inline-block;margin-right:1.1rem} nav a{display:inline-block;
padding:.15rem 0} td a{display:inline-block;min-height:24px}
@media print{@page{margin:12mm} body{max-width:none;margin:0;padding:0;font-size:11px} h1,h2,h3,caption,summary,
figcaption,.label{break-after:avoid} figure,tr,.tiles{break-inside:avoid} .scroll{overflow:visible}
table{font-size:9.5px;max-width:100%} td,th{padding:.2rem .35rem;min-width:0} td.w{min-width:6rem}
caption,figcaption{font-size:10px} caption span{max-width:none} svg{min-width:0;width:100%}
thead{display:table-header-group}
details::details-content{content-visibility:visible;height:auto} a{color:inherit;text-decoration:none}
.tiles li,.concerns,.fine-box,.unknown-box{print-color-adjust:exact}}
"""
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_ABSENT = {
    "until": "still",
    "availability": "unknown",
    "ready": "unknown",
    "verdict": "unknown",
    "last_live": "never",
    "worst_known_day": "unknown",
}
"""The meaning of a missing value, by column; in any other column it is shown as a dash."""
_SHARES = ("availability", "availability_before", "availability_after", "objective", "worst_known_day")


def visible(text: str) -> str:
    """The text with invisible characters, and those that reverse the text around them, replaced by their numbers."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)


def escaped(text: str) -> str:
    """The text as markup that shows it and does nothing else."""
    return html.escape(visible(text), quote=True)


def isolated(text: str) -> str:
    """The text as markup that cannot reverse what follows, as right-to-left letters would."""
    return escaped(text) if text.isascii() else f"<bdi>{escaped(text)}</bdi>"


class Page:
    """Collects the parts of a page."""

    def __init__(self, title: str) -> None:
        """A page with this title and heading."""
        self.title = visible(title)
        self.parts: list[str] = []
        self._contents: list[tuple[str, str]] = []
        self._contents_at: int | None = None
        self.heading(1, title)

    def heading(self, level: int, text: str, anchor: str = "", *, listed: bool = True) -> None:
        """A heading; the contents list it if it has an anchor, unless it is in another list."""
        if anchor and listed:
            self._contents.append((anchor, text))
        named = f' id="{anchor}"' if anchor else ""
        self.parts.append(f"<h{level}{named}>{escaped(text)}</h{level}>")

    def contents(self) -> None:
        """Put links here to all headings with an anchor, also to those that follow."""
        self._contents_at = len(self.parts)

    def links(self, label: str, links: Sequence[tuple[str, str]]) -> None:
        """A list of links with their texts."""
        self.parts.append(_links(label, links))

    def paragraph(self, text: str, kind: str = "muted") -> None:
        """A paragraph of this kind."""
        self.parts.append(f'<p class="{kind}">{escaped(text)}</p>')

    def tiles(self, label: str, tiles: Sequence[tuple[str, int, str]]) -> None:
        """Numbers to see at once: what, how many, and whether that is `fine`, `bad` or neither."""
        items = "".join(f'<li class="{kind}"><b>{number:,}</b> {escaped(name)}</li>' for name, number, kind in tiles)
        self.parts.append(
            f'<p class="label">{escaped(label)}</p><ul class="tiles" aria-label="{escaped(label)}">{items}</ul>'
        )

    def figure(self, caption: str, drawn: str) -> None:
        """A figure below its caption."""
        self.parts.append(f"<figure><figcaption>{escaped(caption)}</figcaption>{_scrolled(caption, drawn)}</figure>")

    def folded(self, summary: str, begun_at: int) -> None:
        """Fold the parts from a place on under a summary; paper shows them unfolded."""
        inside = "\n".join(self.parts[begun_at:])
        self.parts[begun_at:] = [f"<details><summary>{escaped(summary)}</summary>{inside}</details>"]

    def table(self, caption: str, rows: Sequence[Row], *columns: str, shown: int = ROWS_SHOWN,
              links: Mapping[str, str] | None = None) -> None:  # fmt: skip
        """The rows, as many as are shown, under the names of their columns; values in `links` are links."""
        if not rows:
            self.paragraph(f"{caption}: none.")
            return
        head = "".join(f'<th scope="col"{_aligned(rows, name)}>{escaped(_title(name))}</th>' for name in columns)
        body = "".join(
            "<tr>" + "".join(_cell(name, row[name], links or {}) for name in columns) + "</tr>" for row in rows[:shown]
        )
        more = f", {shown:,} of {len(rows):,} shown; the table has them all" if len(rows) > shown else ""
        said = f"<caption><span>{escaped(caption + more)}</span></caption>"
        self.parts.append(
            _scrolled(caption, f"<table>{said}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        )

    def text(self) -> str:
        """The whole document."""
        parts = list(self.parts)
        if self._contents_at is not None and len(self._contents) > 1:
            links = [(f"#{anchor}", text) for anchor, text in self._contents]
            parts.insert(self._contents_at, _links("Contents", links))
        body = "\n".join(parts)
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escaped(self.title)}</title>'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><meta name="viewport"'
            f' content="width=device-width"><style>{_STYLE}</style></head><body><main>{body}</main></body></html>\n'
        )


def _links(label: str, links: Sequence[tuple[str, str]]) -> str:
    items = "".join(f'<li><a href="{address}">{isolated(text)}</a></li>' for address, text in links)
    return f'<nav aria-label="{escaped(label)}"><p class="label">{escaped(label)}</p><ul>{items}</ul></nav>'


def _scrolled(label: str, inside: str) -> str:
    """An element that may be wider than the window; it takes the keyboard's focus, so that it can scroll."""
    return f'<div class="scroll" tabindex="0" role="group" aria-label="{escaped(label)}">{inside}</div>'


def _title(column: str) -> str:
    """A column's name for people, with its unit."""
    name, unit = (column[:-2], " (s)") if column.endswith("_s") else (column, "")
    return name.replace("_", " ") + unit


def _aligned(rows: Sequence[Row], column: str) -> str:
    return ' class="n"' if any(_is_number(row[column]) for row in rows[:ROWS_SHOWN]) else ""


def _is_number(value: Any) -> bool:  # noqa: ANN401 -- a table's value
    return isinstance(value, int | float) and not isinstance(value, bool)


def text_of(column: str, value: Any) -> str:  # noqa: ANN401 -- a table's value
    """A value as people read it."""
    if value is None:
        return _ABSENT.get(column, "-")
    forms: dict[type, Callable[[Any], str]] = {
        datetime: moment,
        bool: lambda each: "yes" if each else "no",
        int: lambda each: f"{each:,}" if column.endswith("_records") else str(each),
        float: lambda each: _number(column, each),
        list: lambda each: ", ".join(text_of(column, one) for one in each) or "-",
        date: lambda each: f"{each:%Y-%m}" if column == "month" else str(each),
    }
    return forms.get(type(value), str)(value)


def _number(column: str, value: float) -> str:
    if column in _SHARES:
        return f"{percent(value)} %"
    if column == "budget_spent":
        return f"{value:,.1%}".replace("%", " %")
    if column.endswith("_s"):
        return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2f}"  # noqa: PLR2004 -- exact enough
    return f"{value:.4g}" if abs(value) < 1 else f"{value:,.2f}"


def _cell(column: str, value: Any, links: Mapping[str, str]) -> str:  # noqa: ANN401 -- a table's value
    text = escaped(text_of(column, value))
    if _is_number(value):
        return f'<td class="n">{text}</td>'
    if isinstance(value, date):
        return f'<td class="t">{text}</td>'
    if isinstance(value, str) and value in links:
        return f'<td class="w"><a href="{links[value]}">{text}</a></td>'
    return f'<td class="w">{text}</td>' if len(text) > ROWS_SHOWN else f"<td>{text}</td>"

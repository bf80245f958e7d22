"""The few things that all text views share: a style, tables that respect a width, wrapped lines. Pure: nothing here prints."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum


class Ink(Enum):
    """What a colour means. Colour never carries meaning alone: the words say it too."""

    BOLD = "1"
    DIM = "2"
    GOOD = "32"
    WARN = "33"
    BAD = "31"
    ACCENT = "36"


@dataclass(frozen=True, slots=True)
class Style:
    """How to lay out text. ``width`` None: no limit, as for a pipe; nothing is cut or dropped then."""

    width: int | None = None
    colour: bool = False

    def paint(self, text: str, ink: Ink) -> str:
        return f"\x1b[{ink.value}m{text}\x1b[0m" if self.colour and text else text


PLAIN = Style()


def style_for(terminal: bool, columns: int, environ: Mapping[str, str]) -> Style:
    """The style for a stream: plain and unlimited unless a terminal; no colour where NO_COLOR is set (no-color.org) or TERM is dumb."""
    if not terminal:
        return PLAIN
    colour = not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    return Style(width=max(columns, 40), colour=colour)


@dataclass(frozen=True, slots=True)
class Column:
    """A table's column. Those with the highest ``drop`` go first where the width is short (0 never goes); ``right`` aligns numbers."""

    title: str
    right: bool = False
    drop: int = 0
    shrink: bool = False


def clean(text: str) -> str:
    """Text from the input without control characters, which could rewrite a terminal."""
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp") else letter for letter in text)


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], style: Style = PLAIN, *, indent: int = 2) -> list[str]:
    """Lines of a table under a dim heading. Empty when there are no rows; columns that are empty in every row stay out."""
    cells = [[clean(cell) for cell in row] for row in rows]
    if not cells:
        return []
    shown = [i for i, column in enumerate(columns) if not column.drop or any(row[i] for row in cells)]
    widths = [max(len(columns[i].title), *(len(row[i]) for row in cells)) for i in range(len(columns))]
    shown = _dropped(columns, widths, shown, style.width, indent)
    _shrunk(columns, widths, shown, style.width, indent)
    lines = [style.paint(_line([column.title for column in columns], columns, widths, shown, indent), Ink.DIM)]
    lines.extend(_line(row, columns, widths, shown, indent) for row in cells)
    return lines


def _space(widths: Sequence[int], shown: Sequence[int], indent: int) -> int:
    return indent + sum(widths[i] for i in shown) + 2 * (len(shown) - 1)


def _dropped(columns: Sequence[Column], widths: Sequence[int], shown: list[int], width: int | None, indent: int) -> list[int]:
    while width is not None and _space(widths, shown, indent) > width:
        droppable = [i for i in shown if columns[i].drop]
        if not droppable:
            break
        shown = [i for i in shown if i != max(droppable, key=lambda i: (columns[i].drop, i))]
    return shown


def _shrunk(columns: Sequence[Column], widths: list[int], shown: Sequence[int], width: int | None, indent: int) -> None:
    """Narrow the columns that may shrink, widest first, to at least 12 letters."""
    while width is not None and _space(widths, shown, indent) > width:
        wide = [i for i in shown if columns[i].shrink and widths[i] > 12]
        if not wide:
            return
        widths[max(wide, key=lambda i: (widths[i], i))] -= 1


def _line(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int], shown: Sequence[int], indent: int) -> str:
    parts = []
    for i in shown:
        cell = cells[i] if len(cells[i]) <= widths[i] else cells[i][: widths[i] - 1] + "…"
        parts.append(cell.rjust(widths[i]) if columns[i].right else cell.ljust(widths[i]))
    return " " * indent + "  ".join(parts).rstrip()


def wrapped(text: str, style: Style = PLAIN, *, indent: int = 2, hang: int = 0) -> list[str]:
    """``text`` broken at spaces to the style's width, every line indented, later lines by ``hang`` more."""
    text = clean(text)
    if style.width is None:
        return [" " * indent + text]
    return textwrap.wrap(
        text,
        width=max(style.width, indent + hang + 20),
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hang),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def heading(text: str, style: Style = PLAIN) -> str:
    return style.paint(clean(text), Ink.BOLD)


def facts(pairs: Iterable[tuple[str, str]], style: Style = PLAIN, *, indent: int = 2) -> list[str]:
    """ "Name  value" lines with the values aligned; long values wrap under themselves."""
    known = [(name, value) for name, value in pairs if value]
    if not known:
        return []
    column = max(len(name) for name, _ in known) + 2
    lines: list[str] = []
    for name, value in known:
        first, *rest = wrapped(value, style, indent=indent + column)
        lines.append(" " * indent + style.paint(name, Ink.DIM) + first[indent + len(name) :])
        lines.extend(rest)
    return lines


def block(*parts: Sequence[str]) -> str:
    """Parts with one empty line between them, empty parts left out; no newline at the end."""
    return "\n\n".join("\n".join(part) for part in parts if part)

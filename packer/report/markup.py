"""Markup that cannot forget to escape: plain strings become text, only ``Html`` passes as it is."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from packer.render.text import clean

_VOID = frozenset({"meta", "link", "input", "br", "hr", "rect", "line", "path", "circle", "use"})
_SELF_CLOSING = frozenset({"rect", "line", "path", "circle", "use"})


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def text(content: str) -> Html:
    """``content`` as text: escaped, without control characters."""
    return content if isinstance(content, Html) else Html(escape(clean(content), quote=True))


def join(parts: Iterable[str]) -> Html:
    return Html("".join(text(part) for part in parts))


def el(tag: str, *children: str, **attributes: str | int | float | bool | None) -> Html:
    """An element. ``class_`` is class, other underscores become hyphens; True is a bare attribute, False and None are left out."""
    pieces = [f"<{tag}"]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = "class" if name == "class_" else name.rstrip("_").replace("_", "-")
        pieces.append(f" {attribute}" if value is True else f' {attribute}="{text(str(value))}"')
    if tag in _VOID and not children:
        pieces.append("/>" if tag in _SELF_CLOSING else ">")
        return Html("".join(pieces))
    pieces.append(">")
    pieces.extend(text(child) for child in children)
    pieces.append(f"</{tag}>")
    return Html("".join(pieces))

"""SVG that may stand in a page: of what was drawn, the shapes and texts that are known, and nothing else."""

from xml.etree import ElementTree

_NAMESPACE = "{http://www.w3.org/2000/svg}"
_ELEMENTS = frozenset({"svg", "g", "path", "line", "rect", "circle", "text", "tspan"})
_ATTRIBUTES = frozenset(
    {
        *("d", "x", "y", "x1", "x2", "y1", "y2", "dx", "dy", "r", "cx", "cy", "width", "height", "transform"),
        *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap"),
        *("stroke-linejoin", "stroke-miterlimit", "opacity", "font-size", "font-weight", "text-anchor", "viewBox"),
    }
)


def plain_svg(drawn: str) -> str:
    """Return a drawing with no element and no attribute but the known ones: no script, style, link or outside image.

    The outermost element keeps its size and says to readers of screens that what is said beside it stands for it.
    """
    # What is read here was drawn in this process, and reaches nothing outside of it.
    root = ElementTree.fromstring(drawn)  # noqa: S314
    kept = _kept(root)
    kept.set("aria-hidden", "true")
    kept.set("focusable", "false")
    return ElementTree.tostring(kept, encoding="unicode")


def _kept(element: ElementTree.Element) -> ElementTree.Element:
    # Without a namespace, as HTML has it.
    kept = ElementTree.Element(_name(element))
    kept.attrib.update({name: value for name, value in element.attrib.items() if _known(name, value)})
    kept.text = element.text if _name(element) in ("text", "tspan") else None
    kept.extend(_kept(child) for child in element if _name(child) in _ELEMENTS and child.get("display") != "none")
    return kept


def _known(name: str, value: str) -> bool:
    return name in _ATTRIBUTES and "url(" not in value


def _name(element: ElementTree.Element) -> str:
    return element.tag.removeprefix(_NAMESPACE)

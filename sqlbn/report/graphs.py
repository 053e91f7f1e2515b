"""Pictures of networks: layers of boxes and arrows, laid out by Graphviz."""

from __future__ import annotations

import importlib.util
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlbn.engines.output_files import check_folder, replacing
from sqlbn.errors import OptionError
from sqlbn.text import printable

if TYPE_CHECKING:
    from sqlbn.networks.network import Network

_FORMATS = (".svg", ".png")
# Width by height of a picture that is easy to look at.
_PLEASANT = math.sqrt(2)
_LONGEST_LABEL = 40
_DOTS_PER_INCH = "110"
_GRAPH = {"nodesep": "0.2", "ranksep": "0.45", "pad": "0.15", "bgcolor": "white"}
_NODE = {
    "shape": "box",
    "style": "rounded,filled",
    "fillcolor": "#eef3f8",
    "color": "#33475b",
    "fontname": "Helvetica,Arial,sans-serif",
    "fontsize": "12",
    "margin": "0.12,0.06",
    "height": "0.35",
}
_CLASS_NODE = {"fillcolor": "#ffd98a", "color": "#8a5a00", "penwidth": "2.5"}
_NOTE = {"labelloc": "b", "fontname": _NODE["fontname"], "fontsize": "11", "fontcolor": "#8a5a00"}
_EDGE = {"color": "#33475b", "arrowsize": "0.8"}
# The class points at everything: its arrows stay behind those that tell more, and where they would
# be a thicket only those are drawn that show where the others would be.
_CLASS_EDGE = {"color": "#c9b68c", "arrowsize": "0.6", "weight": "0"}
_MOST_CLASS_ARROWS = 16


def check_drawing(path: str | Path) -> None:
    """Fail before the work where a picture is wanted that cannot be drawn."""
    path = Path(path)
    if path.suffix.lower() not in _FORMATS:
        raise OptionError("the name must end in .svg or .png", out=path)
    check_folder(path, "out")
    if importlib.util.find_spec("pygraphviz") is None:
        raise OptionError("drawing a network needs pygraphviz: pip install pygraphviz")


def draw_network(network: Network, path: str | Path, target: str | None = None) -> None:
    """Write an .svg or .png picture of a network, its class marked.

    Layers go down the page or across it, whichever gives the better page: many children of one
    parent are a wide row, but a column of moderate height. Where the class is a parent of all of
    many variables, it points at those without another parent, and a line below says so.
    """
    path = Path(path)
    check_drawing(path)
    with _quiet_library() as said:
        graphs = [_laid_out(network, target, direction) for direction in ("TB", "LR")]
        best = min(graphs, key=_unpleasantness)
        if path.suffix.lower() == ".png":  # an .svg has no dots, and would only grow
            best.graph_attr["dpi"] = _DOTS_PER_INCH
        try:
            with replacing(path) as part:
                best.draw(str(part), format=path.suffix.lower()[1:])
        except (OSError, ValueError) as error:
            raise OptionError(f"cannot be drawn: {said() or error}", out=path) from error


def _laid_out(network: Network, target: str | None, direction: str) -> Any:
    import pygraphviz

    graph = pygraphviz.AGraph(directed=True, strict=True)
    graph.graph_attr.update(rankdir=direction, **_GRAPH)
    graph.node_attr.update(_NODE)
    graph.edge_attr.update(_EDGE)
    # Numbers for names: a name may hold what Graphviz takes for its own language.
    for place, name in enumerate(network.names):
        marks = _CLASS_NODE if name == target else {}
        graph.add_node(f"n{place}", label=label_of(name), **marks)
    few = is_thicket(network, target)
    if few:
        note = f"{label_of(str(target))} is a parent of all others; most of its arrows are left out"
        graph.graph_attr.update(label=note, **_NOTE)
    for child, parents in enumerate(network.parents):
        for parent in parents:
            of_class = network.names[parent] == target
            if not (of_class and few and len(parents) > 1):
                marks = _CLASS_EDGE if of_class else {}
                graph.add_edge(f"n{parent}", f"n{child}", **marks)
    graph.layout(prog="dot")
    return graph


def is_thicket(network: Network, target: str | None) -> bool:
    """Whether the class is a parent of all others and these are many: its arrows would hide all."""
    if target is None or len(network) - 1 <= _MOST_CLASS_ARROWS:
        return False
    return all(target in v.parents for v in network if v.name != target)


def label_of(name: str) -> str:
    r"""A name as Graphviz will show it: nothing in it is markup, and it is not too long.

    >>> label_of(r"<b>\N & co")
    '&lt;b&gt;\\\\N &amp; co'
    """
    shown = printable(" ".join(name.splitlines()) if name.strip() else name)
    if len(shown) > _LONGEST_LABEL:
        shown = shown[: _LONGEST_LABEL - 1] + "…"
    for sign, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\\", "\\\\")):
        shown = shown.replace(sign, written)
    return shown


def _unpleasantness(graph: Any) -> float:
    """How far a picture is from pleasant sides."""
    left, bottom, right, top = map(float, graph.graph_attr["bb"].split(","))
    return abs(math.log((right - left + 1) / (top - bottom + 1) / _PLEASANT))


@contextmanager
def _quiet_library() -> Iterator[Any]:
    """What the library says on standard error kept back: it complains of fonts' settings.

    The value is a function that gives its last line.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)

        def last_line() -> str:
            file.seek(0)
            lines = file.read().decode(errors="replace").strip().splitlines()
            return lines[-1] if lines else ""

        try:
            yield last_line
        finally:
            os.dup2(kept, 2)
            os.close(kept)

"""`sqlbn help`."""

from __future__ import annotations

from sqlbn.cli import guide
from sqlbn.cli.output import echo, echo_json


def help(topic: str | None, json: bool) -> None:
    """Print a page of the guide, or list the pages."""
    if topic is None:
        listed = {name: guide.about(guide.page(name)) for name in guide.TOPICS}
        if json:
            echo_json(listed)
        else:
            echo(guide.contents(listed))
        return
    text = guide.page(topic)
    if json:
        echo_json({"topic": topic, "text": text})
    else:
        echo(guide.plain(text).rstrip())

"""Pages from templates: self-contained, under a policy that lets nothing be loaded."""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from aiscore import __version__
from aiscore.report.escape import terminal

TEMPLATES = files("aiscore.report").joinpath("templates")
STYLE = "page.css"


def make_html(name: str, *, script: str | None = None, **values: object) -> str:
    """The page of that template, with these values and no other script."""
    style = template(STYLE)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(template)
    )
    return environment.get_template(name).render(
        policy=_policy(style, script), version=__version__, style=style, script=script, **values
    )


def shown_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> dict[str, Any]:
    """What a template needs of a table, with texts that show what they are."""
    shown_header, *shown = [[terminal(cell) for cell in line] for line in (header, *lines)]
    return {"header": shown_header, "lines": shown}


def template(name: str) -> str:
    """The text of a template, a style or a script."""
    return TEMPLATES.joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str | None) -> str:
    """Nothing is loaded from anywhere, and only this style and this script count."""
    hashes = {
        name: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
        for name, text in {"style": style, "script": script}.items()
        if text is not None
    }
    sources = "; ".join(f"{name}-src 'sha256-{digest}'" for name, digest in hashes.items())
    return f"default-src 'none'; {sources}; img-src data:; base-uri 'none'; form-action 'none'"

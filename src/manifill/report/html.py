"""Pages from templates: every value is escaped, and nothing is loaded from outside."""

import base64
from typing import Any

from manifill.errors import MissingDependency


def render(template: str, **values: Any) -> str:
    """The page that a file of `templates` makes of these values."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingDependency("A page needs jinja2: pip install 'manifill[plots]'.") from None
    loader = PackageLoader("manifill.report", "templates")
    pages = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return pages.get_template(template).render(values)


def data_uri(content: bytes, kind: str = "image/png") -> str:
    """Bytes as an address that holds them, for `src`."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"

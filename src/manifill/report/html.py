"""HTML pages from Jinja templates; values are escaped, and pages load no other files."""

import base64
from typing import Any

from manifill.errors import MissingDependency


def render(template: str, **values: Any) -> str:
    """HTML text of a file in `templates/`, filled in with these values."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingDependency("HTML pages need jinja2: pip install 'manifill[plots]'.") from None
    loader = PackageLoader("manifill.report", "templates")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.get_template(template).render(values)


def data_uri(content: bytes, kind: str = "image/png") -> str:
    """The bytes as a data URI, for the `src` of an element."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"

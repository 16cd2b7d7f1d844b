"""A rank document as it lies in the store, of which only what is asked for is parsed.

Documents are mostly timelines and tables that the job neither reads nor changes; with a thousand
lanes, parsing and writing those anew would be most of the job's time.
"""

from __future__ import annotations

import json
import re
from typing import Any

from nsysflow.outdir import json_text

# In the one form of documents a section begins on a line that is indented by one.
_BETWEEN = re.compile(r',\n(?= ")')
_NAME = re.compile(r' "([^"]*)": ')
_FAILED = '\n  "status": "error"'


class Stored(dict[str, Any]):
    """Sections by name, parsed when first asked for; those set are written anew."""

    def __init__(self, text: str) -> None:
        """Take the text of a document as ``outdir.json_text`` made it.

        Raises:
            ValueError: it is not that.
        """
        super().__init__()
        if not (text.startswith("{\n") and text.endswith("\n}\n")):
            raise ValueError("no document of nsysflow")
        self._text: dict[str, str] = {}
        for chunk in _BETWEEN.split(text[2:-3]):
            name = _NAME.match(chunk)
            if name is None:
                raise ValueError("no document of nsysflow")
            self._text[name[1]] = chunk

    def __missing__(self, name: str) -> Any:  # noqa: ANN401 - any JSON value
        """Parse a section."""
        value = json.loads(f"{{{self._text[name]}}}")[name]
        super().__setitem__(name, value)
        return value

    def failed(self) -> dict[str, str]:
        """Return why by section, of those whose question failed; the others are not parsed."""
        names = [name for name, text in self._text.items() if _FAILED in text]
        return {name: self[name]["reason"] for name in sorted(names)}

    def replace(self, *names: str) -> None:
        """Write sections as they are now."""
        for name in names:
            self._text[name] = json_text({name: self[name]})[2:-3]

    def text(self) -> str:
        """Return the document's text."""
        return "{\n" + ",\n".join(self._text[name] for name in sorted(self._text)) + "\n}\n"

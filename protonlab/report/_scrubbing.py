r"""Taking folders and host names out of what a report shows and holds.

A path keeps its last part, and what follows ``site-packages``; a home folder becomes ``~``, a host
name ``host``. What is searched is text: cells, outputs, figures' JSON, profiles' documents. A
terminal's colours are taken out first, since a path begins behind one; it also does behind what
text spells out, such as ``\n`` or ``\x1b[32m``.
"""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

from protonlab.model.units import counted
from protonlab.page import without_terminal_codes

# Base64 is no text: neither a picture's nor an array's.
_OPAQUE_KEYS = ("bdata", "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")
_DATA_URI = r"(?P<data>data:[\w/+.-]+(?:;[\w=-]+)*;base64,[A-Za-z0-9+/=]+)"
# Colours as a program's text spells them.
_SPELLED_CODE = re.compile(r"(\\(?:x1b|033|u001b|e)\[[0-9;?]*[A-Za-z])", re.IGNORECASE)
_ESCAPED = r"(?<=\\[nrt])"
# A letter of another script as JSON spells it, within JSON, too; not what is ASCII, such as \u003c.
_SPELLED = r"\\++u(?!00[0-7])[0-9a-fA-F]{4}"
_FOLDER, _FILE = (rf"(?:[\w.+@=%~{more}-]++|{_SPELLED})" for more in (",", ""))
_PATH = (
    rf"(?:(?P<local>file://[\w.-]*)|{_ESCAPED}|(?<=[\s'\"]-[BIL])|(?<![\w./*$)}}\]%<…-]))"
    rf"(?P<path>~?/(?:{_FOLDER}++/)+{_FILE}*+)"
)
_HOME = re.compile(r"/(?:home|Users)/[^/]+/?")
_WINDOWS = (
    rf"(?P<windows>(?:{_ESCAPED}|\b)[A-Za-z]:\\+"
    r"(?:[^\\\s\"'<>|:*?]+\\+)+(?P<file>[^\\\s\"'<>|:*?]*))"
)
_LOGIN = (
    rf"(?P<login>(?:{_ESCAPED}|(?<![\w\\-]))(?:[^\W\d]|{_SPELLED})(?:[\w-]|{_SPELLED})*+"
    r"@[\w-]+(?:\.[\w-]+)*(?=:[~/]))"
)
_URL = (
    rf"(?P<scheme>(?:{_ESCAPED}|\b)(?:https?|wss?|tcp|ssh)://)"
    r"(?P<server>[\w-]+|\d+(?:\.\d+){3})(?=[:/]|\b(?!\.))"
)
_ZONES = ("local", "localdomain", "internal", "intranet", "lan", "corp", "cluster", "svc")
# One try for each word, however long: a name with a digit or hyphen that ends in such a zone.
_INTERNAL = (
    rf"(?P<internal>(?:{_ESCAPED}|\b)ip-\d+(?:-\d+){{3}}[\w.-]*\b"
    rf"|(?:{_ESCAPED}|(?<![\w\\.-]))(?=[a-z.]*+[0-9-])[a-z0-9.-]++(?!\w)(?:"
    + "|".join(rf"(?<=\.{zone})" for zone in _ZONES)
    + "))"
)
_LOCAL = ("localhost", "127.0.0.1", "0.0.0.0")
_PACKAGES = re.compile(r".*/(?:(?:site|dist)-packages|lib/python3\.\d+)/(.+)")


class Scrubber:
    """Scrubs text, and remembers what was taken out.

    Parameters
    ----------
    folder
        The notebook's folder; it goes even where its name has spaces or other marks.
    """

    def __init__(self, folder: Path) -> None:
        self.paths: set[str] = set()
        self.hosts: set[str] = set()
        known = {str(folder.resolve()), str(Path.home()), str(Path.cwd())}
        odd = [each for each in known if not re.fullmatch(rf"(?:/|{_FOLDER})*", each)]
        odd += [json.dumps(each)[1:-1] for each in odd]
        odd.sort(key=len, reverse=True)
        self._odd = re.compile("|".join(map(re.escape, odd))) if odd else None
        own = _own_names()
        host = rf"|(?P<host>(?:{_ESCAPED}|(?<![\w.-]))(?:{own})(?![\w-]))" if own else ""
        self._pattern = re.compile(
            "|".join((_DATA_URI, _LOGIN, _WINDOWS, _URL, _PATH, _INTERNAL)) + host
        )

    def text(self, text: str) -> str:
        """Scrub one text; a terminal's colours go, too."""
        text = without_terminal_codes(text)
        if self._odd is not None:
            text = self._odd.sub(lambda found: "/folder/folder", text)
        pieces = _SPELLED_CODE.split(text)
        pieces[::2] = [self._pattern.sub(self._replacement, piece) for piece in pieces[::2]]
        return "".join(pieces)

    def tree(self, value: Any, key: str = "") -> Any:
        """Scrub every text in plain values, names of entries included."""
        if isinstance(value, str):
            return value if key in _OPAQUE_KEYS else self.text(value)
        if isinstance(value, dict):
            return type(value)(
                {self.text(name): self.tree(each, name) for name, each in value.items()}
            )
        if isinstance(value, list):
            return [self.tree(each, key) for each in value]
        return value

    @property
    def note(self) -> str:
        """One sentence for the page."""
        found = [
            *([counted(len(self.paths), "path")] if self.paths else []),
            *([counted(len(self.hosts), "host name")] if self.hosts else []),
        ]
        if not found:
            return "Paths and host names are taken out of pages; this one held none."
        return (
            f"Folders and host names were taken out of this report ({' and '.join(found)}): a path "
            "keeps its last part behind …/, and host stands for a host's name."
        )

    def _replacement(self, found: re.Match[str]) -> str:
        if found["data"]:
            return found[0]
        if found["path"]:
            return self._local(found["local"]) + self._path(found["path"])
        if found["windows"]:
            self.paths.add(found[0])
            return f"…/{found['file']}"
        if found["login"]:
            self.hosts.add(found[0].partition("@")[2])
            return "user@host"
        if found["scheme"]:
            if found["server"] in _LOCAL:
                return found[0]
            self.hosts.add(found["server"])
            return f"{found['scheme']}host"
        self.hosts.add(found[0])
        return "host"

    def _local(self, start: str | None) -> str:
        """Return what a file's URL starts with; its server is seldom named."""
        server = (start or "").removeprefix("file://")
        if server and server not in _LOCAL:
            self.hosts.add(server)
            return "file://host"
        return start or ""

    def _path(self, path: str) -> str:
        self.paths.add(path)
        if _HOME.fullmatch(path):
            return "~"
        package = _PACKAGES.fullmatch(path)
        rest = package[1] if package else path.rstrip("/").rpartition("/")[2]
        return f"…/{rest}{'/' * path.endswith('/')}"


def _own_names() -> str:
    """Pattern of this machine's names; a plain word such as ``triton`` is too common to replace."""
    name = socket.gethostname()
    names = {name, name.partition(".")[0]} - {"", *_LOCAL}
    return "|".join(
        re.escape(each)
        for each in sorted(names, key=len, reverse=True)
        if re.search(r"[\d.-]", each)
    )

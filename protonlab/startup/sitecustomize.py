"""What Python imports first in each process of ``protonlab run``, which puts this folder ahead.

A rank begins to record here. A ``sitecustomize`` of the user's or of the system's comes after it,
as it would have come without this one.
"""

import importlib.machinery
import importlib.util
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  (pathlib takes time)
sys.path[:] = [
    entry
    for entry in sys.path
    if os.path.abspath(entry) != _FOLDER  # noqa: PTH100
]
try:
    from protonlab.runs._rank_process import begin

    begin()
except Exception as error:
    sys.stderr.write(f"protonlab: nothing is recorded by {sys.executable}: {error!r}\n")

_spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
if _spec is not None and _spec.loader is not None:
    _theirs = importlib.util.module_from_spec(_spec)
    sys.modules["sitecustomize"] = _theirs
    _spec.loader.exec_module(_theirs)

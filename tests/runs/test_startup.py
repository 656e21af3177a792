"""What Python imports first in a process of a run, beside a ``sitecustomize`` of the user's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from protonlab.runs import RankOptions
from protonlab.runs._job import STARTUP
from protonlab.runs._rank import CLAIM
from protonlab.runs._rank_options import VARIABLE

LOADED = "print(*sorted({'torch', 'triton', 'numpy', 'pandas'} & set(sys.modules)), sep=',')"
THEIRS = "import os; os.environ['THEIRS'] = os.environ.get('PROTONLAB_RUN_RANK', 'first')"


def python(code: str, folder: Path, *paths: Path, **environment: str) -> str:
    """Run code as `protonlab run` would, and return what it printed, errors included."""
    root = Path(__file__).parents[2]
    inherited = {key: value for key, value in os.environ.items() if key != CLAIM}
    done = subprocess.run(
        [sys.executable, "-c", f"import os, sys\n{code}"],
        env={
            **inherited,
            "PYTHONPATH": os.pathsep.join(map(str, (STARTUP, *paths, root))),
            VARIABLE: RankOptions(str(folder)).to_json(),
            **environment,
        },
        text=True,
        capture_output=True,
        check=True,
    )
    return done.stdout + done.stderr


def test_nothing_heavy_is_imported_before_the_script_does(tmp_path: Path) -> None:
    assert python(LOADED, tmp_path, RANK="0", WORLD_SIZE="1") == "\n"
    assert not any(tmp_path.iterdir())


def test_a_sitecustomize_of_the_users_comes_after_and_in_its_name(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(THEIRS)
    code = "print(os.environ['THEIRS'], sys.modules['sitecustomize'].__file__)"
    told = python(code, tmp_path, tmp_path, RANK="0", WORLD_SIZE="1")
    assert told == f"rank {tmp_path / 'sitecustomize.py'}\n"


def test_the_folder_is_on_no_path_of_the_script(tmp_path: Path) -> None:
    assert python(f"print({str(STARTUP)!r} in sys.path)", tmp_path) == "False\n"


def test_python_without_protonlab_says_so_and_runs_the_script(tmp_path: Path) -> None:
    broken = tmp_path / "protonlab"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise ImportError('no protonlab here')")
    told = python("print('ran')", tmp_path, tmp_path)
    assert told.startswith("ran\nprotonlab: nothing is recorded by ")
    assert "no protonlab here" in told


def test_what_a_rank_starts_is_no_rank_either(tmp_path: Path) -> None:
    code = """
claims = any(type(each).__name__ == "ImportWatch" for each in sys.meta_path)
print("rank" if claims else "none", flush=True)
if claims:
    import subprocess; subprocess.run(sys.orig_argv)"""
    assert python(code, tmp_path, RANK="0", WORLD_SIZE="1") == "rank\nnone\n"

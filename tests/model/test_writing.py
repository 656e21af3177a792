"""Files that are whole or not there, and targets that no file can replace."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from protonlab.model.writing import write_atomically


def test_older_file_stays_when_writing_fails(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")

    def pieces() -> Iterator[str]:
        yield "new"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_atomically(pieces(), target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_link_stays_one_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    file, link = tmp_path / "shared" / "a.txt", tmp_path / "a.txt"
    file.write_text("old")
    link.symlink_to(file)
    write_atomically(["new"], link)
    assert link.is_symlink()
    assert file.read_text() == "new"
    file.unlink()
    write_atomically(["again"], link)
    assert file.read_text() == "again"


def test_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "a.txt"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_atomically(["one ", "two"], pipe)
    reader.join(10)
    assert read == ["one two"]
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize("name", ["x" * 300, "folder"])
def test_error_names_the_target_and_not_a_file_beside_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    target = tmp_path / name
    with pytest.raises(OSError, match=r"\[Errno \d+\]") as caught:
        write_atomically(["new"], target)
    assert caught.value.filename == str(target)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_writing_leaves_the_permissions_of_other_threads_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = os.umask(0o027)
    try:
        # To ask what a new file may be is to change it for everybody in between.
        monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("changes other threads' files"))
        write_atomically(["x"], tmp_path / "a.txt")
        assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640
    finally:
        monkeypatch.undo()
        os.umask(old)

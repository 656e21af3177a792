"""Which launches a hook keeps: patterns on compiled names, changed while kernels launch."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest
from sample_kernels import (
    add,
    answers,
    metrics,
    plain,
    row,
    told,
    triton_kernels,
)
from triton.compiler import LazyDict
from triton.profiler.hooks.hook import Hook

from protonlab import LaunchHook, ProtonLabError, Session
from protonlab.capture import _proton


def test_exclude_never_evaluates_metadata() -> None:
    with Session(exclude="told") as session:
        x = told(launches=3)
    assert answers.calls == []
    assert x[0] == 3
    assert set(row(session, "told_kernel")) == {"count", "time_ns"}
    (kernel,) = triton_kernels(session).to_dict("records")
    assert (kernel["kernel"], kernel["hook"], kernel["count"]) == ("told_kernel", "filtered", 3)
    assert session.profile.info.launches == {"told_kernel": (3, 0)}


def test_filter_matches_the_compiled_name_from_its_start() -> None:
    with Session(include="kernel") as session:
        add()
    assert session.profile.info.launches == {"add_kernel": (1, 0)}
    with Session(include="add_kernel$") as session:  # the display name has [n=128] behind it
        add()
        plain()
    assert session.profile.info.launches == {"add_kernel": (1, 1), "plain_kernel": (1, 0)}
    assert session.profile.info.include == "add_kernel$"


def test_configure_takes_effect_at_the_next_launch() -> None:
    hook = LaunchHook(exclude="told")
    with Session(hook=hook) as session:
        told({"n": 1})
        hook.configure(include="told")
        told({"n": 2})
        with pytest.raises(ProtonLabError, match="include is not a regular expression"):
            hook.configure(include="(")
        told({"n": 3})
    assert metrics(session) == {"n": 5}
    assert session.profile.info.launches == {"told_kernel": (3, 2)}


@pytest.mark.parametrize("pattern", [b"add", 3, re.compile("add"), re.compile(b"add")])
def test_pattern_of_the_wrong_type(pattern: Any) -> None:
    hook = LaunchHook(include="told")
    for make in (LaunchHook, hook.configure):
        with pytest.raises(ProtonLabError, match="give the regular expression as a string"):
            make(include=pattern)
    assert hook.include == "told"


def test_filter_changes_while_another_thread_launches() -> None:
    hook = LaunchHook()
    done = threading.Event()

    def turn() -> None:
        while not done.is_set():
            hook.configure(include="add")
            hook.configure(exclude="add")

    with Session(hook=hook) as session:
        thread = threading.Thread(target=turn)
        thread.start()
        for _ in range(30):
            add()
        done.set()
        thread.join()
    ((seen, kept),) = session.profile.info.launches.values()
    assert seen == 30
    frames = session.profile.frames
    tokens = frames["n_tokens"].sum() if "n_tokens" in frames else 0
    assert tokens == 8 * kept


def test_the_filter_is_asked_once_a_kernel() -> None:
    hook = LaunchHook(exclude="told")
    asked: list[str] = []
    matches = hook._kernels.filter.matches

    class Asked:
        include, exclude = None, "told"

        def matches(self, name: str) -> bool:
            asked.append(name)
            return matches(name)

    hook._kernels.filter = Asked()  # type: ignore[assignment]
    with Session(hook=hook):
        told(launches=5)
        add()
    assert asked == ["told_kernel", "add_kernel"]


def test_two_sessions_with_opposite_filters() -> None:
    with Session("a", include="add") as first, Session("b", exclude="add") as second:
        add()
        told({"name": "renamed", "n": 5})
    assert metrics(first, "add_kernel [n=128]")["n_tokens"] == 8
    assert metrics(first, "renamed") == {}
    assert metrics(second, "renamed") == {"n": 5}
    assert metrics(second, "add_kernel [n=128]") == {}
    for session, kept in ((first, "add_kernel [n=128]"), (second, "renamed")):
        kernels = triton_kernels(session).set_index("name")
        assert kernels["hook"].to_dict()[kept] == "kept"
        assert sorted(kernels["hook"]) == ["filtered", "kept"]
        assert sorted(kernels["kernel"]) == ["add_kernel", "told_kernel"]


class RenamingHook(Hook):
    """Evaluates metadata before anyone else, as another profiler may."""

    priority = 10_000

    def init_handle(self, *args: Any) -> None: ...
    def activate(self) -> None: ...
    def deactivate(self) -> None: ...
    def exit(self, metadata: Any) -> None: ...
    def enter(self, metadata: Any) -> None:
        metadata.get()


def test_compiled_name_where_another_hook_was_first() -> None:
    with Session(include="told_kernel") as session:
        told({"name": "one", "n": 1})
        manager = _proton.require().hook_manager
        manager.register(other := RenamingHook(), 99)
        try:
            told({"name": "two", "n": 2})
            assert other in manager.active_hooks
        finally:
            manager.unregister(99)
    assert session.profile.info.launches == {"told_kernel": (2, 2)}
    assert metrics(session, "two") == {"n": 2}


def test_filtered_launch_closes_the_frame_of_one_that_failed() -> None:
    hook = LaunchHook(exclude="plain")
    with Session(hook=hook) as session:
        hook.enter(LazyDict({"name": "failed", "function": 1, "stream": 0}))  # and no exit
        plain()
    (found,) = session.profile.frames.query("name == 'plain_kernel'").to_dict("records")
    assert (found["parent_id"], found["kind"], found["count"]) == (0, "kernel", 1)

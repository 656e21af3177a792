"""The option ``hook=``: a launch hook that the user made."""

from __future__ import annotations

import sys

from protonlab.errors import ProtonLabError


def check_hook(hook: object, also: list[str]) -> None:
    """Refuse what is no LaunchHook, and options beside it that belong to the hook.

    Raises
    ------
    ProtonLabError
        If either is so; the message says how to make such a hook.
    """
    if also:
        raise ProtonLabError(
            f"hook= brings its own filter, so it excludes {' and '.join(also)}; give "
            "them to the hook: LaunchHook(include=…, exclude=…, record=…)"
        )
    module = sys.modules.get("protonlab.capture._hook")  # not loaded: then nobody has made one
    if module is not None and isinstance(hook, module.LaunchHook):
        return
    raise ProtonLabError(
        f"hook={hook!r} is a {type(hook).__name__}; it must be a protonlab.LaunchHook, such as "
        "LaunchHook(include='_p_matmul.*')"
    )

"""Why a filter let nothing through: it had nothing to match, or it matched otherwise than meant."""

from __future__ import annotations

from collections.abc import Iterator

from protonlab.model.profile import Profile
from protonlab.model.sentences import some

_MOST_NAMES = 12


def why_none_kept(profile: Profile) -> Iterator[str]:
    """Say why a profile with a filter holds no kernel that was kept; nothing where one was."""
    info = profile.info
    given = [
        f"{option}={value}"
        for option, value in (("include", info.include), ("exclude", info.exclude))
        if value is not None
    ]
    if not given:
        return
    kernels, seen = profile.kernels, some(sorted(info.launches), _MOST_NAMES)
    if kernels.empty or kernels["hook"].eq("kept").any():
        return
    if not seen:
        yield (
            "The filter had nothing to match: only kernels that Triton launches pass it, and these "
            f"came from elsewhere: {some([*kernels['label']], _MOST_NAMES)}"
        )
    elif info.include is None:
        yield (
            f"exclude={info.exclude} leaves out every compiled name that was seen: "
            f"{seen}. Patterns match from the start of a name (re.match)"
        )
    else:
        yield (
            f"No kernel passed {' '.join(given)}. Patterns are anchored at the start of the "
            f"compiled name (re.match); begin with .* to match anywhere. Names seen: {seen}"
        )

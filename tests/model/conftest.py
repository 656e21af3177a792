from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
FOLDERS = (TESTS / "profiles", TESTS.parent / "protonlab" / "recorded")
# A profile that ships with the package may also stand among the tests'.
TREES = sorted(
    {path.name: path for folder in FOLDERS for path in folder.glob("*.hatchet")}.values()
)


@pytest.fixture(params=TREES, ids=lambda path: path.name)
def profile_path(request: pytest.FixtureRequest) -> str:
    """Each recorded tree that proton-viewer can read."""
    return str(request.param)

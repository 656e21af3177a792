from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
TREES = sorted(
    [
        *(TESTS / "profiles").glob("*.hatchet"),
        *(TESTS.parent / "protonlab" / "recorded").glob("*.hatchet"),
    ]
)


@pytest.fixture(params=TREES, ids=lambda path: path.name)
def profile_path(request: pytest.FixtureRequest) -> str:
    """Each recorded tree that proton-viewer can read."""
    return str(request.param)

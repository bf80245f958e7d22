"""What holds the house together: who may import whom, what the wheel carries, what the pins may say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_SOURCE = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info", "node_modules")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Names of the files in a wheel built from a copy of the sources."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "source", ignore=NOT_SOURCE)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "-w",
        str(folder),
        str(folder / "source"),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    (built,) = folder.glob("bayplan-*.whl")
    return zipfile.ZipFile(built).namelist()


def test_the_wheel_carries_packages_only(wheel: list[str]) -> None:
    """`packer` and `cloud` are top-level names as promised; `tests` and `perf` at the top would take names from others."""
    top = {name.split("/")[0] for name in wheel if ".dist-info" not in name}
    assert top <= {"packer", "cloud", "extender", "tuner_shim", "manifests"}
    assert "packer" in top


def test_the_wheel_carries_what_the_program_reads(wheel: list[str]) -> None:
    """A catalog that stays behind in the checkout would only be missed by users."""
    data = {f"cloud/data/{path.name}" for path in (ROOT / "cloud" / "data").iterdir() if path.suffix in {".csv", ".tsv", ".json"}}
    assert data
    assert data <= set(wheel)
    assert "packer/py.typed" in wheel
    assert any(name.endswith("LICENSE") for name in wheel)


def test_import_contracts_hold() -> None:
    """The layers are what lets one part be understood without the others."""
    run = subprocess.run([Path(sys.executable).parent / "lint-imports"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout[-3000:]


def test_pins_are_names_and_versions_only() -> None:
    """A download address in a pin ties users to somebody's mirror."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", pin)] == []


def test_every_direct_dependency_is_pinned() -> None:
    """What make demo and make test install is what was tested."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if "==" in line}
    wanted = [re.split(r"[<>=\[]", need)[0].lower() for need in (*project["dependencies"], *project["optional-dependencies"]["test"])]
    assert [name for name in wanted if name not in pinned] == []

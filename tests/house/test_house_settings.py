"""Settings: one place, each with a reason; what is in force can always be told, and a slip of the pen is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from packer.config import SETTINGS, effective
from packer.errors import UsageError


@pytest.fixture(autouse=True)
def _away_from_the_users_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))


def test_every_setting_has_a_unit_and_a_reason() -> None:
    """A number without a unit and a reason cannot be changed with confidence."""
    assert [name for name, setting in SETTINGS.items() if not setting.unit or not setting.why] == []


def test_later_sources_win(tmp_path: Path) -> None:
    """Default, file, environment, flag: the closer to the call, the stronger."""
    (tmp_path / "bayplan.yaml").write_text("budget: 2\nseed: 2\nregion: eu-west-1\n")
    found = effective({"budget": 4, "seed": None}, environ={"BAYPLAN_BUDGET": "3", "BAYPLAN_SEED": "3"})
    assert (found["budget"].value, found["budget"].origin) == (4, "flag")
    assert (found["seed"].value, found["seed"].origin) == (3, "environment BAYPLAN_SEED")
    assert (found["region"].value, found["region"].origin) == ("eu-west-1", "file bayplan.yaml")
    assert (found["policy"].value, found["policy"].origin) == ("", "default")


def test_the_users_file_serves_where_the_folder_has_none(tmp_path: Path) -> None:
    """A team's file beside the manifests comes before a person's own."""
    home = tmp_path / "home" / "bayplan"
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("seed: 5\n")
    assert effective(environ={"XDG_CONFIG_HOME": str(tmp_path / "home")})["seed"].value == 5


@pytest.mark.parametrize(
    ("content", "environ", "words"),
    [
        ("budgte: 3", {}, ["budgte", "did you mean 'budget'"]),
        ("- budget", {}, ["mapping"]),
        ("budget: [", {}, ["not YAML"]),
        ("budget: many", {}, ["whole number", "work units"]),
        ("budget: 1.5", {}, ["whole number"]),
        ("budget: true", {}, ["whole number"]),
        ("budget: -1", {}, ["at least 0"]),
        ("deadline: .inf", {}, ["deadline"]),
        ("output: xml", {}, ["table, wide, json"]),
        ("region: 3", {}, ["text"]),
        ("", {"BAYPLAN_BUGDET": "3"}, ["BAYPLAN_BUGDET", "did you mean 'BAYPLAN_BUDGET'"]),
        ("", {"BAYPLAN_SEED": "x"}, ["BAYPLAN_SEED", "whole number"]),
        ("", {"BAYPLAN_CONFIG": "/nowhere.yaml"}, ["/nowhere.yaml", "BAYPLAN_CONFIG"]),
    ],
)
def test_a_wrong_setting_is_an_error_that_says_the_mend(tmp_path: Path, content: str, environ: dict[str, str], words: list[str]) -> None:
    """A setting that is silently ignored is worse than none."""
    (tmp_path / "bayplan.yaml").write_text(content)
    with pytest.raises(UsageError) as caught:
        effective(environ=environ)
    assert [word for word in words if word not in str(caught.value)] == []


def test_variables_of_a_kubernetes_service_are_no_settings() -> None:
    """A Service called bayplan puts BAYPLAN_PORT and the like into every pod beside it."""
    links = {"BAYPLAN_SERVICE_HOST": "10.0.0.1", "BAYPLAN_SERVICE_PORT": "80", "BAYPLAN_PORT": "tcp://10.0.0.1:80",
             "BAYPLAN_PORT_80_TCP": "tcp://10.0.0.1:80", "BAYPLAN_PORT_80_TCP_ADDR": "10.0.0.1",
             "BAYPLAN_WEBHOOK_SERVICE_PORT_HTTPS": "443"}  # fmt: skip
    assert {setting.origin for setting in effective(environ=links).values()} == {"default"}


def test_the_command_line_and_the_library_spend_the_same() -> None:
    """The same input through either must give the same plan."""
    from packer.solve import Budget

    assert SETTINGS["budget"].default == Budget().units
    assert SETTINGS["seed"].default == Budget().seed

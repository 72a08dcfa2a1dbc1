"""The files in deploy/: what systemd and Compose would refuse, as far as it can be seen without them."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from lurcher.surfaces.cli.flags import parse

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
UNITS = sorted(DEPLOY.glob("*.service")) + sorted(DEPLOY.glob("*.timer"))
_SERVICE_KEYS = {
    "image", "build", "restart", "environment", "volumes", "shm_size", "healthcheck", "depends_on", "command", "ports",
    "read_only", "tmpfs", "cap_drop", "security_opt", "stop_grace_period",
}  # fmt: skip


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_units_are_valid(unit: Path, tmp_path: Path) -> None:
    reader = configparser.ConfigParser(interpolation=None, strict=False)
    reader.optionxform = str  # type: ignore[assignment, method-assign]
    reader.read(unit)
    assert {"Unit"} < set(reader.sections()) <= {"Unit", "Service", "Timer", "Install"}
    if reader.has_section("Service"):
        words = shlex.split(reader["Service"]["ExecStart"])
        assert words[0] == "/usr/local/bin/lurcher"
        parse(words[1:])
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("there is no systemd here")
    for other in UNITS:  # a timer names its service; the program need not be installed where this runs
        (tmp_path / other.name).write_text(other.read_text().replace("/usr/local/bin/lurcher", sys.executable))
    command = [analyze, "verify", "--man=no", str(tmp_path / unit.name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    said = [line for line in done.stderr.splitlines() if unit.stem in line]
    assert not said


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def test_the_compose_file_is_what_compose_reads() -> None:
    found = compose()
    assert set(found) == {"services", "volumes"}
    for name, service in found["services"].items():
        assert set(service) <= _SERVICE_KEYS, name
        assert ("image" in service) != ("build" in service)
        assert service["healthcheck"]["test"][0] == "CMD"
        for other in service.get("depends_on", {}):
            assert "healthcheck" in found["services"][other]
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert source.startswith("./") or source in found["volumes"]
        for port in service.get("ports", ()):
            assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port), "only a proxy on this machine reaches it"


def test_the_server_of_the_compose_file_starts_with_what_it_is_given() -> None:
    server, database = compose()["services"]["server"], compose()["services"]["postgres"]
    parsed = parse(server["command"])
    assert parsed.command == "serve"
    assert parsed.tokens in [volume.split(":")[1] for volume in server["volumes"]]
    assert server["environment"]["LURCHER_STORE"] == "postgres://lurcher@postgres/lurcher"
    assert server["environment"]["LURCHER_STORE_KEY"] == database["environment"]["POSTGRES_PASSWORD"]
    assert (DEPLOY / ".." / "packaging" / "Dockerfile").is_file()


def test_no_secret_is_in_the_files() -> None:
    for file in DEPLOY.iterdir():
        for value in re.findall(r"(?:PASSWORD|KEY)[:=]\s*(\S+)", file.read_text()):
            assert value.startswith("${"), file.name

"""Packages of npm that tests need: fetched once, into the folder that tests keep from run to run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import own_home
from tests.own_home import SHARED


def modules_with(package: str, script: str) -> Path:
    """The folder `node_modules` that has `script` of `package`; the test is skipped where that cannot be had."""
    folder = SHARED / "npm" / package.replace("/", "-")
    modules = folder / "node_modules"
    if not (modules / script).exists():
        npm = shutil.which("npm")
        if npm is None or shutil.which("node") is None:
            pytest.skip(f"npm fetches {package}, and is not here")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}")
        own = str(own_home.folder() / "home")  # some tests have none, and npm fails without
        environment = {**os.environ, "HOME": own, "npm_config_cache": str(SHARED / "npm" / "cache")}
        home = own_home.real_home()
        if home is not None and (home / ".npmrc").is_file():  # it says where packages come from
            environment["npm_config_userconfig"] = str(home / ".npmrc")
        command = [npm, "install", "--no-audit", "--no-fund", "--silent", "--ignore-scripts", "--prefix", str(folder), package]
        done = subprocess.run(command, capture_output=True, timeout=300, check=False, cwd=folder, env=environment)
        if done.returncode or not (modules / script).exists():
            pytest.skip(f"npm cannot install {package}")
    return modules

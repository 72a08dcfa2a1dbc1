from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lurcher.sources import FilesSettings, Root, find_root
from lurcher.sources import git as git_command
from lurcher.sources.listing import list_files

BOTH = pytest.mark.parametrize("use_git", [True, False], ids=["git", "walk"])


def listed(folder: Path, use_git: bool = True, **settings: object) -> list[str]:
    return [entry.path for entry in listing(folder, use_git, **settings).entries]


def listing(folder: Path, use_git: bool = True, **settings: object):
    return list_files(Root(folder.resolve(), use_git, ""), FilesSettings(**settings))


@BOTH
def test_entries_carry_what_lstat_says_in_order(repo, put, use_git):
    put(repo, {"b.py": "12", "a/z.py": "1", "a.py": "", "é.py": "x"})
    result = listing(repo, use_git)
    assert result.method == ("git" if use_git else "walk")
    assert [entry.path for entry in result.entries] == ["a.py", "a/z.py", "b.py", "é.py"]
    status = (repo / "b.py").lstat()
    assert result.entries[2] == ("b.py", 2, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


@BOTH
def test_ignore_files_nest_and_info_exclude_counts(repo, put, use_git):
    put(
        repo,
        {
            ".gitignore": "*.log\n/tmp/\n",
            ".git/info/exclude": "private*\n",
            "a.log": "",
            "tmp/a.py": "",
            "pkg/.gitignore": "!keep.log\n*.py\n",
            "pkg/keep.log": "",
            "pkg/tmp/b.txt": "",
            "pkg/b.py": "",
            "private.txt": "",
        },
    )
    assert listed(repo, use_git) == [".gitignore", "pkg/.gitignore", "pkg/keep.log", "pkg/tmp/b.txt"]


def test_tracked_files_are_listed_though_ignored_and_vanish_when_deleted(repo, put, git):
    put(repo, {".gitignore": "*.gen\n", "a.gen": "", "b.gen": "", "c.py": "", "d.py": ""})
    git(repo, "add", "-f", "a.gen", "c.py", "d.py")
    (repo / "d.py").unlink()
    assert listed(repo) == [".gitignore", "a.gen", "c.py"]


@BOTH
def test_odd_names_survive(repo, put, use_git):
    names = ["-dash.py", "a b.py", "new\nline.py", 'quo"te.py', "tab\t.py", "日本/é.py"]
    put(repo, dict.fromkeys(names, ""))
    assert listed(repo, use_git) == sorted(names)


@BOTH
def test_names_that_are_not_utf8_are_counted(repo, put, use_git):
    put(repo, {"good.py": ""})
    try:
        with open(os.fsencode(repo) + b"/bad\xff.py", "wb"):
            pass
    except OSError:
        pytest.skip("this file system only takes UTF-8 names")
    result = listing(repo, use_git)
    assert [entry.path for entry in result.entries] == ["good.py"]
    assert result.skipped == {"undecodable-name": 1}


@BOTH
def test_names_and_sizes_that_are_not_source_are_counted(repo, put, use_git):
    put(
        repo,
        {
            **dict.fromkeys(["logo.png", "LOGO.PNG", "app.min.js", "app.js.map", "yarn.lock", "icon.svg"], "x"),
            **dict.fromkeys(["admin.js", "a", "bin", "so", "min.js"], "x"),
            "big.txt": "x" * 11,
            "fits.txt": "x" * 10,
        },
    )
    result = listing(repo, use_git, max_file_bytes=10)
    assert [entry.path for entry in result.entries] == ["a", "admin.js", "bin", "fits.txt", "min.js", "so"]
    assert result.skipped == {
        "binary-extension": 2,
        "drawing": 1,
        "lock-file": 1,
        "minified-name": 1,
        "oversized": 1,
        "source-map": 1,
    }


def test_ambiguous_folders_are_listed_when_they_contain_tracked_files(repo, put, git):
    put(repo, {"src/build/a.ts": "", "build/out.ts": "", "node_modules/x/i.js": "", "vendor/v.go": ""})
    git(repo, "add", "src/build/a.ts", "node_modules", "vendor")
    put(repo, {"src/build/new.ts": "", "src/build/deep/newer.ts": ""})
    result = listing(repo)
    assert [entry.path for entry in result.entries] == [
        "src/build/a.ts",
        "src/build/deep/newer.ts",
        "src/build/new.ts",
        "vendor/v.go",
    ]
    assert result.skipped == {"vendored": 2}


def test_without_git_ambiguous_folders_are_skipped(tmp_path, put):
    put(tmp_path, {"src/build/a.ts": "", "coverage/real.py": "", "target/x.rs": "", "lib/a.py": "", "vendor": "file"})
    assert listed(tmp_path, False) == ["coverage/real.py", "lib/a.py", "vendor"]


@BOTH
def test_lurcherignore_takes_away_and_brings_back(repo, put, use_git):
    put(
        repo,
        {
            ".gitignore": "generated/\n*.out\n",
            ".lurcherignore": "docs/\n!generated/\n!special.out\n!node_modules/mine/\n!logo.svg\n!.git/\n!.lurcher/\n",
            "docs/a.md": "",
            "docs/.lurcherignore": "!a.md\n",
            "generated/api.py": "",
            "generated/deep/b.py": "",
            "generated/pic.png": "",
            "x.out": "",
            "special.out": "",
            "node_modules/mine/i.js": "",
            "node_modules/other/i.js": "",
            "logo.svg": "",
            "icon.svg": "",
            "pkg/.lurcherignore": "*.py\n!b.py\n",
            "pkg/a.py": "",
            "pkg/b.py": "",
            ".lurcher/manifest": "",
        },
    )
    assert [path for path in listed(repo, use_git) if not path.endswith("ignore")] == [
        "generated/api.py",
        "generated/deep/b.py",
        "logo.svg",
        "node_modules/mine/i.js",
        "pkg/b.py",
        "special.out",
    ]


@BOTH
def test_lurcherignore_may_be_untracked_and_nested_only(repo, put, git, use_git):
    put(repo, {"pkg/a.py": "", "pkg/b.py": ""})
    git(repo, "add", ".")
    put(repo, {"pkg/.lurcherignore": "/a.py\n"})
    assert listed(repo, use_git) == ["pkg/.lurcherignore", "pkg/b.py"]


@BOTH
def test_links_are_skipped(repo, put, use_git, tmp_path):
    put(repo, {"real/a.py": ""})
    put(tmp_path, {"outside/secret.py": ""})
    (repo / "link.py").symlink_to("real/a.py")
    (repo / "folder").symlink_to("real")
    (repo / "out").symlink_to(tmp_path / "outside")
    (repo / "real" / "loop").symlink_to("..")
    result = listing(repo, use_git)
    assert [entry.path for entry in result.entries] == ["real/a.py"]
    assert result.skipped == {"symlink": 4}


@BOTH
def test_followed_links_stay_inside_and_list_everything_once(repo, put, use_git, tmp_path):
    put(
        repo,
        {"real/a.py": "", ".gitignore": "hidden/\n", "hidden/h.py": "", "hidden/sub/s.py": "", ".lurcher/m.py": ""},
    )
    put(tmp_path, {"outside/secret.py": ""})
    for name, target in {
        "again.py": "real/a.py",
        "shown.py": "hidden/h.py",
        "folder": "real",
        "out": tmp_path / "outside",
        "secret.py": tmp_path / "outside" / "secret.py",
        "real/loop": "..",
        "internal.py": ".lurcher/m.py",
        "config": ".git/config",
        "broken.py": "nowhere",
        "view": "hidden/sub",
    }.items():
        (repo / name).symlink_to(target)
    through_folder = [] if use_git else ["view/s.py"]
    assert listed(repo, use_git, follow_symlinks=True) == [".gitignore", "real/a.py", "shown.py", *through_folder]


def test_a_tracked_folder_replaced_by_a_link_is_not_followed(repo, put, git, tmp_path):
    put(repo, {"pkg/a.py": "", "b.py": ""})
    git(repo, "add", ".")
    (repo / "pkg").rename(tmp_path / "moved")
    (repo / "pkg").symlink_to(tmp_path / "moved")
    assert listed(repo) == ["b.py"]


def test_a_forged_index_cannot_lead_out_of_the_root(repo, put, git, tmp_path, monkeypatch):
    put(repo, {"a.py": ""})
    put(tmp_path, {"secret.py": ""})
    real = git_command.finish

    def forged(process: subprocess.Popen[bytes] | None, seconds: float = 60.0) -> tuple[int, bytes]:
        status, output = real(process, seconds)
        return status, output + b"../secret.py\0.git/config\0" + os.fsencode(tmp_path) + b"/secret.py\0"

    monkeypatch.setattr(git_command, "finish", forged)
    result = listing(repo)
    assert [entry.path for entry in result.entries] == ["a.py"]
    # The absolute path is taken as one below the root, where nothing is.
    assert result.skipped == {"internal": 1, "unsafe-path": 1}


@BOTH
def test_pipes_and_sockets_are_not_files(repo, put, use_git, monkeypatch, git):
    put(repo, {"a.py": "", "p.py": ""})
    git(repo, "add", ".")
    (repo / "p.py").unlink()
    os.mkfifo(repo / "p.py")
    monkeypatch.chdir(repo)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        result = listing(repo, use_git)
    assert [entry.path for entry in result.entries] == ["a.py"]
    assert result.skipped["special"] >= 1


def test_conflicted_paths_appear_once(repo, put, git):
    put(repo, {"a.py": "1"})
    blob = git(repo, "hash-object", "-w", "a.py").strip()
    stages = "".join(f"100644 {blob} {stage}\ta.py\n" for stage in (1, 2, 3))
    subprocess.run(["git", "update-index", "--index-info"], cwd=repo, input=stages, text=True, check=True)
    assert listed(repo) == ["a.py"]


def test_an_unreadable_folder_is_counted(tmp_path, put, monkeypatch):
    put(tmp_path, {"a.py": "", "locked/b.py": ""})
    real = os.scandir

    def refuse(path: str):
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    result = listing(tmp_path, False)
    assert [entry.path for entry in result.entries] == ["a.py"]
    assert result.skipped == {"unreadable": 1}


def test_the_environment_does_not_redirect_git(repo, put, monkeypatch, tmp_path):
    put(repo, {"a.py": ""})
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    result = listing(repo)
    assert ([entry.path for entry in result.entries], result.method) == (["a.py"], "git")


def test_a_repository_cannot_make_listing_run_its_programs(repo, put, git):
    put(repo, {"a.py": "", "evil.sh": "#!/bin/sh\ntouch ran\n"})
    (repo / "evil.sh").chmod(0o755)
    git(repo, "add", ".")
    for key in ("core.fsmonitor", "core.pager", "pager.ls-files", "core.sshCommand", "alias.ls-files"):
        git(repo, "config", key, "./evil.sh")
    assert listed(repo) == ["a.py", "evil.sh"]
    find_root(repo / "a.py")
    assert not (repo / "ran").exists()
    # The trap works: a git that is not told otherwise springs it.
    git(repo, "ls-files", "-o")
    git(repo, "status")
    assert (repo / "ran").exists()


def test_when_git_fails_the_tree_is_walked(repo, put, monkeypatch, tmp_path):
    put(repo, {"a.py": "", ".gitignore": "b.py\n", "b.py": ""})
    (repo / ".git" / "config").write_text("[core\n")
    broken = listing(repo)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    missing = listing(repo)
    for result in (broken, missing):
        assert ([entry.path for entry in result.entries], result.method) == ([".gitignore", "a.py"], "walk")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository away")
def test_a_repository_that_git_refuses_for_its_owner_is_walked(repo, put):
    put(repo, {"pkg/a.py": "", ".gitignore": "b.py\n", "b.py": ""})
    for path in (repo, repo / ".git"):
        os.chown(path, 12345, 12345)
    result = listing(repo)
    assert ([entry.path for entry in result.entries], result.method) == ([".gitignore", "pkg/a.py"], "walk")
    assert find_root(repo / "pkg") == Root(repo.resolve() / "pkg", False, "")


@pytest.fixture
def deep_tree(tmp_path: Path) -> Iterator[Path]:
    """1,200 folders inside each other; taken down here because a recursive clean-up fails on them."""
    top = tmp_path / "top"
    top.mkdir()
    opened = [os.open(top, os.O_RDONLY)]
    try:
        for _ in range(1200):
            os.mkdir("d", dir_fd=opened[-1])
            inner = os.open("d", os.O_RDONLY, dir_fd=opened[-1])
            os.close(opened.pop())
            opened.append(inner)
        os.close(os.open("a.py", os.O_CREAT | os.O_WRONLY, dir_fd=opened[-1]))
        yield top
    finally:
        for descriptor in opened:
            os.close(descriptor)
        subprocess.run(["rm", "-rf", "--", str(top)], check=True)


def test_very_deep_trees_do_not_exhaust_the_stack(deep_tree):
    (deep_tree / ".lurcherignore").write_text("*.x\n")
    assert listed(deep_tree, False) == [".lurcherignore", "d/" * 1200 + "a.py"]

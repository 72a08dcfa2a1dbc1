from pathlib import Path

import pytest

from lurcher.errors import DatasetError
from lurcher.evaluation import trees as module
from lurcher.evaluation.trees import export_tree, message_of, patch_id

from .fakes import Mirror


def test_a_tree_is_laid_out_as_it_was_at_the_commit(tmp_path):
    mirror = Mirror(tmp_path)
    old = mirror.commit("one", {"a.py": "old\n", "deep/b.py": "b\n"})
    mirror.commit("two", {"a.py": "new\n"})
    tree = export_tree(mirror.directory, old, tmp_path / "work" / "tree")
    assert (tree / "a.py").read_text() == "old\n"
    assert (tree / "deep/b.py").read_text() == "b\n"
    assert [path.name for path in tree.parent.iterdir()] == ["tree"]


def test_a_tree_that_is_there_is_used_again(tmp_path):
    kept = tmp_path / "tree"
    kept.mkdir()
    assert export_tree(tmp_path / "no mirror", "f" * 40, kept) == kept


def test_an_unknown_commit_is_an_error_and_leaves_nothing_behind(tmp_path):
    mirror = Mirror(tmp_path)
    mirror.commit("one", {"a.py": ""})
    with pytest.raises(DatasetError) as error:
        export_tree(mirror.directory, "f" * 40, tmp_path / "work" / "tree")
    assert "ffffffffffff of own+project" in error.value.message and error.value.hint
    assert list((tmp_path / "work").iterdir()) == []


def test_an_interrupted_export_is_not_mistaken_for_a_whole_one(tmp_path, monkeypatch):
    mirror = Mirror(tmp_path)
    commit = mirror.commit("one", {f"{name}.py": name for name in "abcd"})
    write = module._write

    def interrupted(folder, path, content):
        if path == "c.py":
            raise KeyboardInterrupt
        write(folder, path, content)

    with monkeypatch.context() as patched:
        patched.setattr(module, "_write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            export_tree(mirror.directory, commit, tmp_path / "work" / "tree")
    assert not (tmp_path / "work" / "tree").exists()
    assert len(list(export_tree(mirror.directory, commit, tmp_path / "work" / "tree").iterdir())) == 4


def test_the_name_appears_in_one_step(tmp_path, monkeypatch):
    mirror = Mirror(tmp_path)
    commit = mirror.commit("one", {"a.py": "", "b.py": ""})
    seen = []

    def rename(partial, target):
        seen.append((sorted(path.name for path in partial.iterdir()), target.exists()))
        return replace(partial, target)

    replace = Path.replace
    monkeypatch.setattr(Path, "rename", rename)
    export_tree(mirror.directory, commit, tmp_path / "tree")
    assert seen == [(["a.py", "b.py"], False)]


def test_links_are_left_out(tmp_path):
    mirror = Mirror(tmp_path)
    (mirror.directory / "out").symlink_to("/etc/passwd")
    commit = mirror.commit("one", {"a.py": ""})
    tree = export_tree(mirror.directory, commit, tmp_path / "tree")
    assert [path.name for path in tree.iterdir()] == ["a.py"]


def test_a_message_is_whole_or_missing(tmp_path):
    mirror = Mirror(tmp_path)
    commit = mirror.commit("subject\n\nbody", {"a.py": ""})
    assert message_of(mirror.directory, commit).strip() == "subject\n\nbody"
    assert message_of(mirror.directory, "f" * 40) is None
    assert message_of(tmp_path / "nowhere", commit) is None


def test_a_cherry_pick_is_the_same_patch(tmp_path):
    mirror = Mirror(tmp_path)
    mirror.commit("start", {"a.py": "1\n", "b.py": "1\n"})
    mirror.git("checkout", "--quiet", "-b", "release")
    mirror.commit("unrelated", {"b.py": "2\n"})
    mirror.git("checkout", "--quiet", "main")
    fix = mirror.commit("fix", {"a.py": "2\n"})
    mirror.git("checkout", "--quiet", "release")
    mirror.git("cherry-pick", fix)
    picked = mirror.git("rev-parse", "HEAD")
    assert picked != fix
    assert patch_id(mirror.directory, picked) == patch_id(mirror.directory, fix) is not None
    assert patch_id(mirror.directory, f"{picked}~1") != patch_id(mirror.directory, fix)
    assert patch_id(mirror.directory, mirror.commit("nothing", {})) is None


def test_a_blob_that_the_repository_lacks_is_left_out(tmp_path):
    mirror = Mirror(tmp_path)
    commit = mirror.commit("one", {"a.py": "a\n", "b.py": "lost\n", "c.py": "c\n"})
    sha = mirror.git("rev-parse", f"{commit}:b.py")
    (mirror.directory / ".git/objects" / sha[:2] / sha[2:]).unlink()
    tree = export_tree(mirror.directory, commit, tmp_path / "tree")
    assert {path.name: path.read_text() for path in tree.iterdir()} == {"a.py": "a\n", "c.py": "c\n"}


def test_a_tree_has_what_archives_leave_out_but_not_the_largest_files(tmp_path, monkeypatch):
    mirror = Mirror(tmp_path)
    commit = mirror.commit("one", {".gitattributes": "a.py export-ignore\n", "a.py": "a\n", "large.py": "l" * 99})
    monkeypatch.setattr(module, "MAX_EXPORTED", 50)
    tree = export_tree(mirror.directory, commit, tmp_path / "tree")
    assert sorted(path.name for path in tree.iterdir()) == [".gitattributes", "a.py"]

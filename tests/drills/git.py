"""Hostile git configurations: checkouts whose settings, attributes and hooks name programs wherever git takes one."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.drills.commands import said_by, unsound
from tests.drills.drill import Drill
from tests.drills.trees import past

PROGRAM = (
    "core.fsmonitor", "core.pager", "core.editor", "core.askPass", "core.sshCommand", "core.gitProxy",
    "core.alternateRefsCommand", "diff.external", "diff.evil.command", "diff.evil.textconv", "filter.evil.clean",
    "filter.evil.smudge", "filter.evil.process", "merge.evil.driver", "gpg.program", "gpg.ssh.program", "gpg.x509.program",
    "credential.helper", "pager.log", "pager.diff", "pager.show", "pager.blame", "pager.status", "sequence.editor",
    "interactive.diffFilter", "uploadpack.packObjectsHook", "remote.origin.uploadpack", "remote.origin.receivepack",
    "trailer.evil.command", "trailer.evil.cmd", "difftool.evil.cmd", "mergetool.evil.cmd", "tar.evil.command",
    "browser.evil.cmd", "man.evil.cmd", "guitool.evil.cmd", "init.templateDir", "gpg.ssh.defaultKeyCommand",
    "sendemail.sendmailCmd", "instaweb.httpd", "hook.evil.command", "core.hooksPath",
)  # fmt: skip
ALIASES = ("log", "ls-files", "rev-parse", "cat-file", "blame", "status", "rev-list", "diff", "show", "config", "for-each-ref")
SWITCHES = (
    ("filter.evil.required", "true"), ("core.untrackedCache", "true"), ("core.preloadIndex", "true"),
    ("log.showSignature", "true"), ("diff.tool", "evil"), ("merge.tool", "evil"), ("core.attributesFile", ".gitattributes"),
    ("protocol.ext.allow", "always"), ("protocol.allow", "always"), ("core.fsmonitorHookVersion", "2"),
    ("submodule.recurse", "true"), ("diff.submodule", "log"), ("core.bare", "false"),
    ("hook.evil.event", "post-index-change"), ("extensions.partialClone", "origin"), ("color.ui", "always"),
    ("remote.origin.promisor", "true"), ("remote.origin.partialclonefilter", "blob:none"), ("log.mailmap", "true"),
    ("mailmap.file", "/dev/stdin"), ("blame.ignoreRevsFile", "/dev/stdin"), ("core.excludesFile", "/dev/zero"),
    ("diff.mnemonicPrefix", "1"), ("log.follow", "true"), ("format.pretty", "%x00%x1b[31m"), ("core.quotePath", "false"),
    ("i18n.logOutputEncoding", "utf-16"), ("core.precomposeUnicode", "true"), ("core.ignoreCase", "true"),
    ("core.worktree", "/"), ("core.worktree", "../.."),
)  # fmt: skip
HOOKS = (
    "post-index-change", "fsmonitor-watchman", "post-checkout", "pre-commit", "reference-transaction", "query-watchman",
    "pre-auto-gc",
)  # fmt: skip
COMMANDS = (
    ("index", "-q"), ("index", "--history", "-q"), ("search", "how are redirects followed"),
    ("search", "cookies", "--in", "all"), ("history", "cookies"), ("brief", "src/client.py"),
    ("explain", "src/cookies.py:3-9"), ("status",), ("doctor",), ("notes", "redirects"), ("symbol", "Client"),
    ("impact", "src/client.py"), ("context", "src"), ("exists", "parse_cookie"), ("search", "cookie", "--mode", "literal"),
    ("outline", "src/client.py"),
)  # fmt: skip


class Git(Drill):
    """No program is run, and no command fails with anything but a clear word."""

    name = "git"
    short, long = 12, 500
    cpu_seconds = 120.0

    def __init__(self, folder: Path, sources: Sequence[Path]) -> None:
        super().__init__(folder, sources)
        self._pristine = past(folder / "pristine")
        self.mark = folder / "executed"
        self.program = folder / "evil"
        self.program.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.mark}\ncat > /dev/null\n')
        self.program.chmod(0o755)

    def attempt(self, chance: random.Random) -> str | None:
        shop = self.folder / "shop"
        shutil.rmtree(shop, ignore_errors=True)
        shutil.copytree(self._pristine, shop)
        self.mark.unlink(missing_ok=True)
        self.spoil(shop, chance)
        for command in chance.sample(COMMANDS, 5):
            name, *rest = command
            if name in ("brief", "explain", "impact", "context", "outline"):
                rest[0] = str(shop / rest[0])
            else:
                rest.append(str(shop))
            said = said_by([name, *rest])
            self.counts[f"commands that ended with {said.status}"] += 1
            if self.mark.exists():
                return f"{command} ran a program: {self.mark.read_text()}"
            if wrong := unsound(said, command):
                return wrong
        return None

    def spoil(self, shop: Path, chance: random.Random) -> None:
        git = shop / ".git"
        evil = str(self.program)
        named = [(name, evil) for name in chance.sample(PROGRAM, chance.randint(5, len(PROGRAM)))]
        named += [(f"alias.{name}", f"!{evil}") for name in ALIASES if chance.random() < 0.5]
        named += chance.sample(SWITCHES, chance.randint(2, len(SWITCHES)))
        named += [("remote.origin.url", f"ext::{evil} %S"), ("submodule.evil.update", f"!{evil}")]
        chance.shuffle(named)
        inner, outer = named[::2], named[1::2]
        (git / "evil.config").write_text(_config(inner))
        text = _config(outer) + f'[include]\n\tpath = {git / "evil.config"}\n[includeIf "gitdir:**"]\n\tpath = evil.config\n'
        (git / "config").write_text((git / "config").read_text() + text)
        attributes = "* filter=evil diff=evil merge=evil\n*.py filter=evil diff=evil working-tree-encoding=UTF-16\n"
        for path in (shop / ".gitattributes", git / "info/attributes"):
            if chance.random() < 0.7:
                path.parent.mkdir(exist_ok=True)
                path.write_text(attributes)
        for name in HOOKS:
            if chance.random() < 0.5:
                (git / "hooks").mkdir(exist_ok=True)
                shutil.copy(self.program, git / "hooks" / name)
        if chance.random() < 0.4:  # a repository inside, with a will of its own
            inside = shop / "vendor/inner"
            shutil.copytree(self._pristine, inside)
            (inside / ".git/config").write_text((inside / ".git/config").read_text() + _config(named))
        if chance.random() < 0.3:
            settings = f"path = evil\n\turl = ext::{evil}\n\tupdate = !{evil}\n"
            (shop / ".gitmodules").write_text(f'[submodule "evil"]\n\t{settings}')
        # Something has changed, so that filters would be asked.
        (shop / "src/client.py").write_text((shop / "src/client.py").read_text() + f"\n# {chance.random()}\n")


def _config(named: Sequence[tuple[str, str]]) -> str:
    lines = []
    for name, value in named:
        section, _, rest = name.partition(".")
        inner, _, key = rest.rpartition(".")
        head = f'[{section} "{inner}"]' if inner else f"[{section}]"
        lines.append(f'{head}\n\t{key} = "{value}"\n')
    return "".join(lines)


DRILL = Git

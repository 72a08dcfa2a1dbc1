"""From an occurrence of a name to the definitions that it means, with how that was found.

A bare name is looked up as its language does: in the functions around it, the file, the imports, the package. A member is
looked up in what its receiver is: a module, a class, or an object whose class is written down somewhere, as an annotation, a
constructor call, a declared result. What is not written down is not guessed: such an occurrence is a candidate.
"""

from __future__ import annotations

from lurcher.inspect.references import rules, syntax
from lurcher.inspect.references.program import Binding, Program, SourceFile, Symbol, Wanted
from lurcher.inspect.references.values import EXTERNAL, Resolution, Value, is_module_called, joined
from lurcher.inspect.references.visible import VisibleNames
from lurcher.languages.occurrences import CALL, IMPORT, INHERITANCE, MEMBER, TYPE, WRITE, Occurrence
from lurcher.languages.parsed_file import Import
from lurcher.runtime.stdlib import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_DEEPEST = 10
"""Steps from one name to the next in one resolution: imports, bases, types of receivers."""
_SURE = 0.5
"""Confidence of an import below which its target is only a candidate."""


NOTHING = Wanted(())


class Resolver:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._ancestors: dict[tuple[int, int], list[Symbol]] = {}
        self._visible = VisibleNames(program)

    # -- occurrences ------------------------------------------------------------------------------------------------------

    def resolve(self, file: SourceFile, name: str, occurrence: Occurrence, wanted: Wanted = NOTHING) -> Resolution | None:
        """What an occurrence means, or which of those `wanted` it may mean; None for a name that is local or of elsewhere."""
        start, end, kind = occurrence
        if kind & MEMBER:
            return self._resolve_member(file, name, start, wanted, kind == CALL | MEMBER)
        if rules.is_label(file, occurrence) or rules.is_variable(file, start):
            return None
        if kind == IMPORT:
            return self._resolve_imported(file, name, start, end)
        return self._resolve_bare(file, name, start, wanted, kind)

    def _resolve_bare(self, file: SourceFile, name: str, start: int, wanted: Wanted, kind: int) -> Resolution | None:
        before = rules.qualified_name(file, start)
        types = kind in (TYPE, INHERITANCE)
        values = self._visible.in_namespace(file, name, before) if before else self.look_up(file, name, start, 0, types)
        if values is None:
            return self._by_name(file, wanted, member=False)
        found = [value for value in values if value.symbol is not None and value.kind == "symbol"]
        found = [value for value in found if value.symbol is not None and rules.may_mean(file, value.symbol, kind)]
        if not found:
            return None
        certain = all(value.how != "several" for value in found)
        return Resolution(tuple(value.symbol for value in found if value.symbol is not None), found[0].how, certain)

    def _resolve_imported(self, file: SourceFile, name: str, start: int, end: int) -> Resolution | None:
        if file.language in rules.PYTHONS or file.language in rules.SCRIPTS:
            read = syntax.python_import if file.language in rules.PYTHONS else syntax.script_import
            imported = read(file.text, start, end)
            if imported is None:  # `a` of `import a as b`, or a part of the module's name
                imported = self._aliased(file, name, start, end)
            if imported is None or imported.name is None:
                return None
            values = self._imported_values(file, imported, 0)
        else:
            values = self._visible.imported(file, name, 0)
        found = [value.symbol for value in values or () if value.symbol is not None and value.kind == "symbol"]
        return Resolution(tuple(found), "import") if found else None

    def _aliased(self, file: SourceFile, name: str, start: int, end: int) -> syntax.ImportedName | None:
        """What `name as alias` takes out of a module."""
        following = file.occurrences_between(end, end + 400)
        if not following or following[0][2] != IMPORT or file.text[end : following[0][0]].strip() != b"as":
            return None
        read = syntax.python_import if file.language in rules.PYTHONS else syntax.script_import
        return read(file.text, following[0][0], following[0][1])

    def _resolve_member(self, file: SourceFile, name: str, start: int, wanted: Wanted, called: bool) -> Resolution | None:
        values = self._receiver_values(file, start, 0)
        if values is None:
            return self._by_name(file, wanted, member=True)
        members = [self._members_of(value, name, 0) for value in values]
        found = _fitting([value for part in members for value in part or ()], called)
        unknown = None in members
        symbols = tuple(dict.fromkeys(value.symbol for value in found if value.symbol is not None and value.kind == "symbol"))
        if symbols:
            return Resolution(symbols, found[0].how or values[0].how)
        owners = [value.symbol for value in values if value.kind == "object" and value.symbol is not None]
        if unknown or any(self._may_have(owner, wanted) for owner in owners):
            return self._by_name(file, wanted, member=True)
        return None

    def _may_have(self, owner: Symbol, wanted: Wanted) -> bool:
        """Whether a subclass of a class has one of these members, which the class itself has not."""
        if wanted.owners is None:
            parents = dict.fromkeys(symbol.file.parent(symbol) for symbol in wanted.symbols)
            wanted.owners = frozenset(
                above for parent in parents if parent is not None and parent.is_type for above in self.ancestors(parent)
            )
        return owner in wanted.owners

    def _by_name(self, file: SourceFile, wanted: Wanted, member: bool) -> Resolution | None:
        """The wanted definitions that an occurrence of their name may mean as far as the spelling goes."""
        found = wanted.fitting(file.ecosystem, member)
        return Resolution(found, "name", False) if found else None

    # -- names ------------------------------------------------------------------------------------------------------------

    def look_up(self, file: SourceFile, name: str, at: int, depth: int, types: bool = False) -> list[Value] | None:
        """What a bare name means at a byte of a file; None where that is not known, nothing for a name of no meaning here."""
        if depth > _DEEPEST:
            return None

        def fits(symbol: Symbol) -> bool:
            """A constructor has the name of its class, which means the class; where types have names of their own, a type."""
            return symbol.kind != "constructor" and (symbol.is_type or not (types and file.language in rules.TYPE_NAMES))

        scopes = file.scopes_at(at)
        bindings = file.bindings(name)
        for position, scope in enumerate(scopes):
            if scope.is_type:
                if rules.has_parameters(scope) and any(binding.scope is scope for binding in bindings):
                    own = file.own_places(name)
                    here = [binding for binding in bindings if binding.scope is scope and binding.start not in own]
                    if here and (position == 0 or not self.own_members(scope, name)):
                        return self._variable(file, here, at, depth)
                if position == 0 or file.language in rules.IMPLICIT:
                    # A bare name means an inherited member only where classes see theirs without a receiver.
                    find = self._class_members if file.language in rules.IMPLICIT else self.own_members
                    members = [member for member in find(scope, name) if fits(member)]
                    if members:
                        return [Value("symbol", symbol, how="scope") for symbol in members]
                continue
            here = [binding for binding in bindings if binding.scope is scope]
            members = file.members(scope, name) if scope.is_module else []  # its other parts in the file included
            if members:
                return [Value("symbol", symbol, how="scope") for symbol in members]
            if here:
                return self._bound(file, name, here, at, depth)
        symbols = file.top_level(name)
        if symbols:
            how = "several" if rules.is_overwritten(file, bindings) else "scope"
            return [Value("symbol", symbol, how=how) for symbol in symbols]
        own = file.own_places(name)  # a member that stands outside of its type, as in Go, is not meant by its bare name
        here = [
            binding for binding in bindings
            if binding.scope is None and not (binding.start in own and own[binding.start].is_member)
        ]  # fmt: skip
        return self._bound(file, name, here, at, depth) if here else self._outside(file, name, depth)

    def _bound(self, file: SourceFile, name: str, bindings: list[Binding], at: int, depth: int) -> list[Value] | None:
        """What the bindings of one scope make of a name."""
        own = file.own_places(name)
        symbols = [own[binding.start] for binding in bindings if binding.start in own]
        if symbols:
            return [Value("symbol", symbol, how="scope") for symbol in symbols]
        imports = [binding for binding in bindings if binding.kind == IMPORT]
        if not imports:
            return self._variable(file, bindings, at, depth)
        found: list[Value] = []
        for binding in imports:
            values = self._import_binding(file, name, binding, depth)
            if values is None:
                return None
            found += values
        return found

    def _import_binding(self, file: SourceFile, name: str, binding: Binding, depth: int) -> list[Value] | None:
        if file.language in rules.PYTHONS:
            imported = syntax.python_import(file.text, binding.start, binding.end)
        elif file.language in rules.SCRIPTS:
            imported = syntax.script_import(file.text, binding.start, binding.end)
        else:
            alias = _ALIAS.search(file.text, max(0, binding.start - 100), binding.start)
            return self._visible.imported(file, name if alias is None else alias.group(1).decode("utf-8", "replace"), depth)
        if imported is None:
            return []
        return self._imported_values(file, imported, depth)

    def _imported_values(self, file: SourceFile, imported: syntax.ImportedName, depth: int) -> list[Value] | None:
        """What a name means that is taken out of a module."""
        if depth > _DEEPEST:
            return None
        if not imported.module:  # exported from here
            return self._exported_here(file, imported, depth)
        names = () if imported.name is None else (imported.name,)
        targets = self._program.resolve_import(file, Import(imported.module, names, 0, imported.kind))
        if not targets:
            return [EXTERNAL]
        if imported.name is None:
            return [Value("module", files=tuple(target for target, _ in targets), module=imported.module, how="import")]
        found: list[Value] = []
        for target, sure in targets:
            values = self._module_member(target, imported.name, depth + 1)
            if values is None:
                return None
            how = "import" if sure >= _SURE else "several"
            if not values and file.language in rules.PYTHONS and is_module_called(target, imported.name):
                values = [Value("module", files=(target,), module=joined(imported.module, imported.name))]
            found += [value._replace(how=how) for value in values]
        return found

    def _exported_here(self, file: SourceFile, imported: syntax.ImportedName, depth: int) -> list[Value] | None:
        name = imported.name
        if name is None or name == "default":
            return []
        symbols = file.top_level(name)
        if symbols:
            return [Value("symbol", symbol, how="scope") for symbol in symbols]
        return self._module_member(file, name, depth + 1)

    def _module_member(self, file: SourceFile, name: str, depth: int) -> list[Value] | None:
        """What a name is in a module, re-exports included."""
        if depth > _DEEPEST:
            return None
        if name == "default" and file.language in rules.SCRIPTS:
            exported = syntax.default_export(file.text)
            name = exported or name
        symbols = file.top_level(name)
        if symbols:
            return [Value("symbol", symbol, how="import") for symbol in symbols]
        for binding in file.bindings(name):
            if binding.kind == IMPORT and binding.scope is None:
                values = self._import_binding(file, name, binding, depth + 1)
                if values is None or values:
                    return values
        unknown = False
        for star in file.imports:
            if "*" not in star.names or star.kind not in ("from", "export"):
                continue
            for target, _ in self._program.resolve_import(file, star):
                if target is file:
                    continue
                values = self._module_member(target, name, depth + 1)
                if values:
                    return values
                unknown = unknown or values is None
        return None if unknown else []

    def _outside(self, file: SourceFile, name: str, depth: int) -> list[Value] | None:
        """What a name is that the file neither defines nor imports by name."""
        if file.language in rules.PYTHONS or file.language in rules.SCRIPTS:
            for star in file.imports:
                if "*" in star.names and star.kind == "from":
                    for target, _ in self._program.resolve_import(file, star):
                        values = self._module_member(target, name, depth + 1)
                        if values:
                            return values
            return [EXTERNAL]  # a built-in or global name
        return self._visible.named(file, name, depth)

    # -- receivers --------------------------------------------------------------------------------------------------------

    def _receiver_values(self, file: SourceFile, start: int, depth: int) -> list[Value] | None:
        chain = syntax.find_receiver(file.text, start)
        return None if chain is None else self.evaluate(file, chain, depth)

    def evaluate(self, file: SourceFile, chain: syntax.Chain, depth: int) -> list[Value] | None:
        """What a chain of names is; None where that is not written down."""
        if depth > _DEEPEST:
            return None
        first, *rest = chain.segments
        values = self._root_values(file, first, depth + 1, chain.new and not rest)
        for segment in rest:
            if values is None:
                return None
            found: list[Value] = []
            for value in values:
                members = self._members_of(value, segment.name, depth + 1)
                if members is None:
                    return None
                found += members
            values = self._used(found, segment, depth + 1, chain.new and segment is rest[-1])
        return values

    def _root_values(self, file: SourceFile, segment: syntax.Segment, depth: int, new: bool) -> list[Value] | None:
        owner = self._self_class(file, segment)
        if owner is not None:
            return [Value("object", owner, how="self")]
        if segment.name == rules.SUPERS.get(file.language, "super"):
            around = next((scope for scope in file.scopes_at(segment.start) if scope.is_type), None)
            bases = None if around is None else self.bases(around)
            return None if bases is None else [Value("object", base, how="super") for base in bases]
        if segment.name == "crate" and file.language == "rust":
            roots = self._program.resolve_import(file, Import("crate", (), 0, "use"))
            return [Value("module", files=tuple(root for root, _ in roots), module="crate", how="import")]
        values = self.look_up(file, segment.name, segment.start, depth)
        if not values or values == [EXTERNAL]:
            module = self._named_module(file, segment.name)
            values = [module] if module is not None else values
        return None if values is None else self._used(values, segment, depth, new)

    def _self_class(self, file: SourceFile, segment: syntax.Segment) -> Symbol | None:
        """The class around a receiver that is the object itself."""
        if segment.indexed or segment.called or segment.name not in rules.SELVES.get(file.language, ("this",)):
            return None
        scopes = file.scopes_at(segment.start)
        if file.language in rules.FIRST_ARGUMENT and not any(scope.is_function for scope in scopes):
            return None
        around = next((scope for scope in scopes if scope.is_type), None)
        if around is not None or not scopes:
            return around
        outermost = [scope for scope in scopes if not scope.is_module]
        return self._owner(outermost[-1]) if outermost else None

    def _owner(self, symbol: Symbol) -> Symbol | None:
        """The type that a definition outside of it belongs to."""
        container = symbol.definition.container.rpartition(".")[2]
        found = [entry for entry in self._program.named(container) if entry.is_type] if container else []
        near = [entry for entry in found if entry.file is symbol.file] or [
            entry for entry in found if entry.file.folder == symbol.file.folder
        ]
        return (near or found)[0] if near or len(found) == 1 else None

    def _named_module(self, file: SourceFile, name: str) -> Value | None:
        """The files of an imported package that a receiver names, where imports bind the last part of their path."""
        if file.language in rules.PYTHONS or file.language in rules.SCRIPTS:
            return None
        for entry in file.imports:
            if entry.spec.replace("::", "/").replace(".", "/").rpartition("/")[2] == name or name in entry.names:
                targets = [target for target, _ in self._program.resolve_import(file, entry)]
                if targets:
                    return Value("module", files=tuple(targets), how="import")
        return None

    def _used(self, values: Iterable[Value], segment: syntax.Segment, depth: int, new: bool) -> list[Value] | None:
        """What calling, or just naming, gives."""
        if segment.indexed:
            return None
        found: list[Value] = []
        for value in _fitting(list(values), segment.called):
            symbol = value.symbol
            if value.kind != "symbol" or symbol is None:
                if value.kind == "object" and segment.called:
                    return None
                found.append(value)
            elif symbol.is_module:
                found.append(value)
            elif symbol.is_type:
                made = segment.called or new
                found.append(Value("object" if made else "symbol", symbol, how="constructor" if made else "class"))
            elif symbol.is_function:
                if segment.called or self._is_property(symbol):
                    results = self._result(symbol, depth)
                    if results is None:
                        return None
                    found += results
                else:
                    found.append(value)
            else:
                typed = None if segment.called else self._declared(symbol, depth)
                if typed is None:
                    return None
                found += typed
        return found

    def _is_property(self, symbol: Symbol) -> bool:
        definition = symbol.definition
        start, _ = symbol.file.name_place(symbol)
        head = symbol.file.text[definition.start_byte : start]
        return b"property" in head or head.rstrip().endswith(b"get")

    def _result(self, symbol: Symbol, depth: int) -> list[Value] | None:
        """Objects of the classes that a function says it returns."""
        _, end = symbol.file.name_place(symbol)
        written = syntax.return_type(symbol.file.text, end, symbol.end)
        return self._typed(symbol.file, written, symbol.start, depth, "result", symbol) if written else None

    def _typed(
        self, file: SourceFile, written: str, at: int, depth: int, how: str, holder: Symbol | None = None
    ) -> list[Value] | None:
        """Objects of a type as it is written at a byte of a file."""
        found: list[Value] = []
        for name in syntax.type_names(written):
            if name in ("Self", "this"):
                scopes = file.scopes_at(at if holder is None else holder.start)
                owner = next((scope for scope in scopes if scope.is_type), None)
                owner = owner or (self._owner(holder or scopes[-1]) if holder or scopes else None)
                found += [] if owner is None else [Value("object", owner, how=how)]
                continue
            first, *rest = name.split(".")
            values = self.look_up(file, first, at, depth + 1, types=not rest)
            for part in rest:
                values = None if values is None else [
                    member for value in values for member in self._members_of(value, part, depth + 1) or ()
                ]
            if values is None:
                return None
            for value in values:
                if value.symbol is not None and value.symbol.is_type:
                    found.append(Value("object", value.symbol, how=how))
                elif value.kind == "external":
                    found.append(value)
        return found or None

    def _declared(self, symbol: Symbol, depth: int) -> list[Value] | None:
        """What a variable or field is, by its annotation or the value that it is given."""
        start, end = symbol.file.name_place(symbol)
        return self._declared_at(symbol.file, start, end, depth)

    def _declared_at(self, file: SourceFile, start: int, end: int, depth: int) -> list[Value] | None:
        text = file.text
        written = syntax.annotation_after(text, end)
        if not written and file.language in ("java", "csharp", "cpp", "dart", "c", "objective-c", "php"):
            chain = syntax.chain_before(text, start)
            written = "" if chain is None else ".".join(segment.name for segment in chain.segments)
            written = "" if written in ("var", "final", "auto", "const", "return") else written
        if not written and file.language == "go" and text[end : end + 1] == b" " and text[end + 1 : end + 2] not in b":=":
            written = syntax.read_type(text, end + 1)
        if written:
            return self._typed(file, written, start, depth + 1, "annotation")
        at = syntax.after_equals(text, end)
        if at is not None:
            chain = syntax.chain_after(text, at)
            return None if chain is None else self.evaluate(file, chain, depth + 1)
        before = text[max(0, start - 4) : start]
        if before.endswith(b"as "):
            chain = syntax.chain_before(text, start - 3)
            return None if chain is None else self.evaluate(file, chain, depth + 1)
        return None

    def _variable(self, file: SourceFile, bindings: list[Binding], at: int, depth: int) -> list[Value] | None:
        """What a local name is, by the nearest of its bindings that says so; nothing where it is not known to be anything."""
        nearest = sorted(bindings, key=lambda binding: (binding.start > at, abs(binding.start - at)))
        for binding in nearest[:4]:
            if binding.start <= at < binding.end:
                continue
            values = self._declared_at(file, binding.start, binding.end, depth + 1)
            if values is not None:
                return [value._replace(kind="object") if value.kind == "symbol" else value for value in values]
        return [Value("local")]

    # -- members ----------------------------------------------------------------------------------------------------------

    def _members_of(self, value: Value, name: str, depth: int) -> list[Value] | None:
        """The members of a value that have a name; None where it cannot be told whether it has one."""
        if value.kind == "external":
            return []
        if value.kind == "module":
            found: list[Value] = []
            for file in value.files:
                found += self._module_member(file, name, depth + 1) or ()
            if not found and value.module and value.files:
                origin = value.files[0]
                rust = origin.language == "rust"
                module = f"{value.module}::{name}" if rust else joined(value.module, name)
                targets = self._program.resolve_import(origin, Import(module, (), 0, "use" if rust else "import"))
                found = [Value("module", files=(file,), module=module) for file, _ in targets]
            return found
        if value.symbol is None:
            return None
        if value.symbol.is_module:
            return self._visible.inside(value.symbol, name)
        if not value.symbol.is_type:
            return []
        members = self._class_members(value.symbol, name)
        if members:
            return [Value("symbol", symbol, how=value.how) for symbol in members]
        return self._assigned_members(value.symbol, name, depth)

    def _class_members(self, owner: Symbol, name: str) -> list[Symbol]:
        """The definitions of a member in a class, or in the nearest of its bases that has it."""
        for symbol in (owner, *self.ancestors(owner)):
            members = self.own_members(symbol, name)
            if members:
                return members
        return []

    def own_members(self, symbol: Symbol, name: str) -> list[Symbol]:
        """The definitions of a member in a class itself."""
        members = symbol.file.members(symbol, name)
        if not members and symbol.file.language in rules.OPEN_TYPES:
            own = symbol.definition.name
            members = [
                entry for entry in self._program.members_by_owner(name).get(own, ())
                if entry.file.number in self._program.containing(own)  # a file with a member of a type names the type
                and rules.may_hold(symbol, entry)
            ]  # fmt: skip
        return members

    def _assigned_members(self, owner: Symbol, name: str, depth: int) -> list[Value] | None:
        """What `self.name = …` in the methods of a class, or of its bases, makes of a member that is not declared."""
        if depth > _DEEPEST:
            return None
        unknown = False
        for symbol in (owner, *self.ancestors(owner)):
            definition, file = symbol.definition, symbol.file
            for start, end, kind in file.occurrences(name):
                if not (definition.start_byte <= start < definition.end_byte and kind == MEMBER | WRITE):
                    continue
                chain = syntax.find_receiver(file.text, start)
                if chain is None or len(chain.segments) != 1 or self._self_class(file, chain.segments[0]) is not symbol:
                    continue
                values = self._declared_at(file, start, end, depth + 1)
                if values:
                    return values
                unknown = True
        return None if unknown else []

    def bases(self, symbol: Symbol) -> list[Symbol]:
        """The classes of the tree that a class names as its bases."""
        file, definition = symbol.file, symbol.definition
        found: list[Symbol] = []
        _, end = file.name_place(symbol)
        for start, stop, kind in file.bases_between(end, min(definition.end_byte, end + 2_000)):
            if file.scope_at(start) is not symbol:
                continue
            name = file.text[start:stop].decode("utf-8", "replace")
            if kind & MEMBER:
                values = self._receiver_values(file, start, 1)
                values = [member for value in values or () for member in self._members_of(value, name, 1) or ()]
            else:
                known = self.look_up(file, name, definition.start_byte - 1, 1) or ()
                values = [value for value in known if value.symbol is not symbol]
            found += [value.symbol for value in values if value.symbol is not None and value.symbol.is_type]
        return found

    def ancestors(self, symbol: Symbol) -> list[Symbol]:
        """Bases, their bases and so on, nearest first."""
        key = symbol.file.number, symbol.number
        known = self._ancestors.get(key)
        if known is None:
            self._ancestors[key] = []  # where a class is its own base
            found: list[Symbol] = []
            level = [symbol]
            while level and len(found) < 200:
                level = [base for each in level for base in self.bases(each) if base not in found and base is not symbol]
                found += dict.fromkeys(level)
            known = self._ancestors[key] = found
        return known

    def heir(self, file: SourceFile, at: int) -> Symbol | None:
        """The type whose header names a base at a byte; of `impl Trait for Type` the type."""
        around = next((scope for scope in file.scopes_at(at) if scope.is_type), None)
        if around is not None:
            return around
        match = _FOR.match(file.text, at, at + 400)
        values = self.look_up(file, match.group(1).decode(), match.start(1), 1) if match is not None else None
        return next((value.symbol for value in values or () if value.symbol is not None and value.symbol.is_type), None)


_FOR = pattern(rb"[^{};]*?\bfor\s+(?:[\w:]+::)?(\w+)")
_ALIAS = pattern(rb"(\w+)\s+as\s+\Z")


def _fitting(values: list[Value], called: bool) -> list[Value]:
    """Of a method and a field of one name the one that is called, or is not; in Rust and Java both may be there."""
    apart = [value for value in values if value.symbol is None or value.symbol.is_type or value.symbol.is_function == called]
    languages = {value.symbol.file.language for value in values if value.symbol is not None}
    return apart if apart and languages <= rules.MEMBER_NAMES else values

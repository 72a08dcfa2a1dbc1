"""Stop words, and the abbreviations that developers use."""

from __future__ import annotations

STOP_WORDS = frozenset(
    """
    a about after all also an and any are as at be because been before being between both but by can could did do does doing
    each for from had has have having here how i if in into is it its itself just me more most my no nor not now of off on once
    only or other our out over own same should so some such than that the their them then there these they this those through
    to too under until up use used uses using very via was we were what when where which while who whom why will with within
    without would you your it's i'm don't doesn't
    """.split()
)

_ABBREVIATIONS = """
    abbreviation abbr
    address addr
    administrator admin
    allocate alloc allocation allocator
    application app
    argument arg
    argument argv
    arguments args
    asynchronous async
    attribute attr
    attributes attrs
    authentication auth
    authenticate auth
    authorization auth
    authorize auth
    average avg
    boolean bool
    buffer buf
    button btn
    calculate calc
    callback cb
    certificate cert
    character char
    command cmd
    communication comm
    compare cmp
    concatenate concat
    configuration config
    configuration cfg
    configuration conf
    configure config
    connection conn
    constant const
    context ctx
    control ctrl
    coordinate coord
    count cnt
    current cur
    current curr
    database db
    debug dbg
    declaration decl
    default def
    definition def
    delete del
    delete rm
    dependency dep
    dependencies deps
    description desc
    descriptor desc
    descriptor fd
    destination dest
    destination dst
    development dev
    dictionary dict
    difference diff
    dimension dim
    directory dir
    document doc
    documentation docs
    document docs
    duplicate dup
    element elem
    element el
    environment env
    error err
    evaluate eval
    event evt
    exception exc
    execute exec
    execution exec
    expression expr
    extension ext
    feature feat
    file fs
    filesystem fs
    function fn
    function func
    generate gen
    generator gen
    group grp
    hexadecimal hex
    identifier id
    identifier ident
    image img
    implementation impl
    implement impl
    import imp
    increment inc
    index idx
    information info
    initialize init
    initialization init
    instance inst
    instruction instr
    integer int
    interface iface
    internationalization i18n
    iterate iter
    iterator iter
    iteration iter
    javascript js
    language lang
    length len
    library lib
    library libs
    localization l10n
    location loc
    manager mgr
    maximum max
    memory mem
    message msg
    middleware mw
    minimum min
    miscellaneous misc
    modification mod
    module mod
    mutex mtx
    navigation nav
    network net
    notification notif
    number num
    object obj
    operation op
    operator op
    option opt
    options opts
    original orig
    package pkg
    parameter param
    parameters params
    password pwd
    password passwd
    perform perf
    performance perf
    pointer ptr
    position pos
    predicate pred
    previous prev
    process proc
    production prod
    property prop
    properties props
    protocol proto
    prototype proto
    query qry
    random rand
    receive recv
    recursive rec
    reference ref
    references refs
    regular regex
    regexp regex
    regexp re
    repository repo
    request req
    resource res
    response resp
    response res
    result res
    return ret
    revision rev
    schedule sched
    scheduler sched
    sequence seq
    serialize ser
    deserialize de
    serialization serde
    server srv
    service svc
    session sess
    source src
    specification spec
    standard std
    statement stmt
    statistics stats
    status stat
    string str
    structure struct
    subscribe sub
    synchronize sync
    synchronous sync
    synchronization sync
    system sys
    table tbl
    temperature temp
    template tmpl
    template tpl
    temporary temp
    temporary tmp
    text txt
    thread thr
    timestamp ts
    token tok
    transaction tx
    transaction txn
    transform xform
    translate trans
    typescript ts
    user usr
    utilities utils
    utility util
    utility utils
    validate val
    value val
    variable var
    variables vars
    vector vec
    version ver
    websocket ws
    window win
"""


def abbreviations(word: str) -> tuple[str, ...]:
    """The abbreviations of a word, and the words of an abbreviation; found in the text, since a query needs only a few."""
    found: set[str] = set()
    at = _ABBREVIATIONS.find(word) if word.isalnum() else -1
    while at >= 0:
        end = at + len(word)
        if _ABBREVIATIONS[at - 1].isspace() and _ABBREVIATIONS[end].isspace():
            long, *short = _ABBREVIATIONS[_ABBREVIATIONS.rindex("\n", 0, at) : _ABBREVIATIONS.index("\n", end)].split()
            found.update(short if word == long else (long,))
        at = _ABBREVIATIONS.find(word, end)
    return tuple(sorted(found))

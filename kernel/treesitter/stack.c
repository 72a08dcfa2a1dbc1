/* The parser's stack: a graph of places. Readings that differ share what lies below, and become one where they agree again. */

#include "treesitter/parser.h"

#include <stdlib.h>

enum { DEEPEST_MERGE = 1024, DEEPEST_RESORT = 16 };

enum {
    MOST_MEMORY = 256 << 20, /* bytes for one text; real ones of a megabyte take 50 MB */
    MOST_RESORTS = 32 << 20, /* bytes, beside these */
    LARGE = 16 << 20, /* bytes from which on room grows by a quarter: doubled, it would soon be all that there may be */
};

bool room_make(Parser *parser, void **data, uint32_t *room, uint32_t needed, size_t size) {
    uint32_t wanted = *room ? *room : 256;
    while (wanted < needed) {
        if (wanted > UINT32_MAX / 4) {
            return false;
        }
        wanted += wanted * size < LARGE ? wanted : wanted / 4;
    }
    size_t more = (size_t)(wanted - *room) * size;
    if (parser->memory + more > MOST_MEMORY) {
        return false;
    }
    void *larger = realloc(*data, (size_t)wanted * size);
    if (larger == NULL) {
        return false;
    }
    parser->memory += more;
    *data = larger;
    *room = wanted;
    return true;
}

static uint32_t place_new(Parser *parser) {
    if (!room_for(parser, (void **)&parser->places, &parser->place_room, parser->place_count + 1, sizeof(Place))) {
        parser->failed = true;
        return NONE;
    }
    if (parser->mends && !room_for(parser, (void **)&parser->tolls, &parser->toll_room, parser->place_count + 1, sizeof(Toll))) {
        parser->failed = true;
        return NONE;
    }
    return parser->place_count++;
}

/* How far a piece brings a version, in nodes. */
static uint32_t nodes_in(const Parser *parser, uint32_t piece) {
    Symbol symbol = parser->pieces[piece].symbol;
    return parser->tallies[piece].below + (symbol == SYMBOL_PASSED || is_visible(parser->grammar, symbol));
}

bool stack_begin(Parser *parser) {
    parser->place_count = parser->link_count = parser->cell_count = parser->floor = 0;
    uint32_t base = place_new(parser);
    if (base == NONE) {
        return false;
    }
    parser->places[base] = (Place){0, 1, 0, 0, NONE, NONE, NONE};
    if (parser->mends) {
        parser->tolls[base] = (Toll){0, 0};
    }
    parser->floor = 1;
    parser->resorts.used = 0;
    parser->heads[0] = (Head){base, 0, ACTIVE, 0, NONE, NONE, 0};
    parser->head_count = 1;
    return true;
}

/* Without a piece, it is a break: what follows does not follow from what was. */
void stack_push(Parser *parser, uint32_t version, uint32_t piece, State state) {
    uint32_t number = place_new(parser);
    if (number == NONE) {
        return;
    }
    Head *head = &parser->heads[version];
    Place place = {parser->places[head->place].position, state, 1, parser->places[head->place].precedence, head->place, piece, NONE};
    if (piece != NONE) {
        place.position = parser->pieces[piece].end;
        place.precedence += parser->pieces[piece].precedence;
    }
    parser->places[number] = place;
    if (parser->mends) {
        Toll toll = parser->tolls[head->place];
        if (piece == NONE) {
            head->nodes_at_error = toll.nodes;
        } else {
            toll.cost += parser->tallies[piece].cost;
            toll.nodes += nodes_in(parser, piece);
        }
        parser->tolls[number] = toll;
    }
    head->place = number;
}

void stack_remove(Parser *parser, uint32_t version) {
    parser->head_count--;
    memmove(&parser->heads[version], &parser->heads[version + 1], (parser->head_count - version) * sizeof(Head));
}

void stack_replace(Parser *parser, uint32_t source, uint32_t target) {
    if (source != target) {
        if (parser->heads[source].summary == NONE) {
            parser->heads[source].summary = parser->heads[target].summary;
            parser->heads[source].summary_count = parser->heads[target].summary_count;
        }
        parser->heads[target] = parser->heads[source];
        stack_remove(parser, source);
    }
}

Link stack_link(const Parser *parser, uint32_t place, uint32_t number) {
    const Place *from = &parser->places[place];
    if (number == 0) {
        return (Link){from->before, from->piece};
    }
    return parser->links[(size_t)from->more * (MOST_LINKS - 1) + number - 1];
}

static uint32_t scanned_by(const Piece *piece) {
    return piece->flags & IS_EXTERNAL ? piece->children : 0;
}

/* Whether two pieces may stand for each other until somebody looks inside. */
static bool are_alike(const Parser *parser, uint32_t one, uint32_t other) {
    if (one == other) {
        return true;
    }
    if (one == NONE || other == NONE) {
        return false;
    }
    const Piece *a = &parser->pieces[one], *b = &parser->pieces[other];
    if (a->symbol != b->symbol) {
        return false;
    }
    if (piece_cost(parser, one) && piece_cost(parser, other)) {
        return true;
    }
    return a->start - a->begin == b->start - b->begin && a->end - a->start == b->end - b->start &&
           a->count == b->count && (a->flags & IS_EXTRA) == (b->flags & IS_EXTRA) && scanned_by(a) == scanned_by(b);
}

static void set_piece(Parser *parser, uint32_t place, uint32_t number, uint32_t piece) {
    if (number == 0) {
        parser->places[place].piece = piece;
    } else {
        parser->links[(size_t)parser->places[place].more * (MOST_LINKS - 1) + number - 1].piece = piece;
    }
}

static int32_t precedence_through(const Parser *parser, Link link) {
    return parser->places[link.before].precedence + (link.piece == NONE ? 0 : parser->pieces[link.piece].precedence);
}

static uint32_t toll_at(const Parser *parser, uint32_t place) {
    return parser->mends ? parser->tolls[place].cost : 0;
}

static void add_link(Parser *parser, uint32_t place, Link link, int depth) {
    if (link.before == place) {
        return;
    }
    if (depth > DEEPEST_MERGE) {
        parser->failed = true;
        return;
    }
    parser->steps++;
    int32_t through = precedence_through(parser, link);
    for (uint32_t i = 0; i < parser->places[place].links; i++) {
        Link known = stack_link(parser, place, i);
        if (!are_alike(parser, known.piece, link.piece)) {
            continue;
        }
        if (known.before == link.before) {
            /* Between the same two places only the preferred one is kept. */
            if (link.piece != NONE && parser->pieces[link.piece].precedence > parser->pieces[known.piece].precedence) {
                set_piece(parser, place, i, link.piece);
                parser->places[place].precedence = through;
            }
            return;
        }
        const Place *a = &parser->places[known.before], *b = &parser->places[link.before];
        if (a->state == b->state && a->position == b->position && toll_at(parser, known.before) == toll_at(parser, link.before)) {
            for (uint32_t j = 0; j < parser->places[link.before].links && !parser->failed; j++) {
                add_link(parser, known.before, stack_link(parser, link.before, j), depth + 1);
            }
            through = precedence_through(parser, link);
            if (through > parser->places[place].precedence) {
                parser->places[place].precedence = through;
            }
            return;
        }
    }
    Place *into = &parser->places[place];
    if (into->links == MOST_LINKS) {
        return;
    }
    if (into->links == 0) {
        parser->failed = true; /* nothing leads to the begin of a text */
        return;
    }
    if (into->links == 1) {
        if (!room_for(parser, (void **)&parser->links, &parser->link_room, parser->link_count + MOST_LINKS - 1, sizeof(Link))) {
            parser->failed = true;
            return;
        }
        into->more = parser->link_count / (MOST_LINKS - 1);
        parser->link_count += MOST_LINKS - 1;
    }
    parser->links[(size_t)into->more * (MOST_LINKS - 1) + into->links - 1] = link;
    into->links++;
    if (through > into->precedence) {
        into->precedence = through;
    }
    if (parser->mends) {
        uint32_t nodes = parser->tolls[link.before].nodes + (link.piece == NONE ? 0 : nodes_in(parser, link.piece));
        if (nodes > parser->tolls[place].nodes) {
            parser->tolls[place].nodes = nodes;
        }
    }
}

bool stack_can_merge(const Parser *parser, uint32_t version, uint32_t other) {
    const Head *a = &parser->heads[version], *b = &parser->heads[other];
    const Place *here = &parser->places[a->place], *there = &parser->places[b->place];
    return a->status == ACTIVE && b->status == ACTIVE && here->state == there->state && here->position == there->position &&
           toll_at(parser, a->place) == toll_at(parser, b->place) && a->scanned == b->scanned;
}

/* Whether two versions have come to the same: then the first is both, and the other is gone. */
bool stack_merge(Parser *parser, uint32_t version, uint32_t other) {
    const Head *a = &parser->heads[version], *b = &parser->heads[other];
    if (!stack_can_merge(parser, version, other)) {
        return false;
    }
    uint32_t into = a->place, from = b->place;
    for (uint32_t i = 0; i < parser->places[from].links && !parser->failed; i++) {
        add_link(parser, into, stack_link(parser, from, i), 0);
    }
    if (parser->mends && parser->places[into].state == 0) {
        parser->heads[version].nodes_at_error = parser->tolls[into].nodes;
    }
    stack_remove(parser, other);
    return true;
}

static uint32_t cell_new(Parser *parser, uint32_t piece, uint32_t above) {
    if (!room_for(parser, (void **)&parser->cells, &parser->cell_room, parser->cell_count + 1, sizeof(Cell))) {
        parser->failed = true;
        return NONE;
    }
    parser->cells[parser->cell_count] = (Cell){piece, above};
    return parser->cell_count++;
}

/* What lies above a place, for the version that goes on from there: a new one, or one that another path has led to. */
static void add_cut(Parser *parser, uint32_t version, uint32_t place, uint32_t cell) {
    if (parser->cut_count >= MOST_PATHS) {
        parser->failed = true;
        return;
    }
    for (uint32_t i = parser->cut_count; i-- > 0;) {
        Cut known = parser->cuts[i];
        if (parser->heads[known.version].place == place) {
            memmove(&parser->cuts[i + 2], &parser->cuts[i + 1], (parser->cut_count - i - 1) * sizeof(Cut));
            parser->cuts[i + 1] = (Cut){cell, known.version};
            parser->cut_count++;
            return;
        }
    }
    if (parser->head_count >= MOST_HEADS) {
        parser->failed = true;
        return;
    }
    const Head *head = &parser->heads[version];
    parser->heads[parser->head_count] = (Head){place, head->scanned, ACTIVE, head->nodes_at_error, NONE, NONE, 0};
    parser->cuts[parser->cut_count++] = (Cut){cell, parser->head_count++};
}

/* The next step of the path `i`, on all links of its place: on itself along the first, and on new paths along the others. */
static void branch(Parser *parser, uint32_t i, bool lists) {
    Path path = parser->paths[i];
    uint32_t links = parser->places[path.place].links;
    for (uint32_t j = 1; j <= links; j++) {
        Path *following = &parser->paths[i];
        if (j < links) {
            if (parser->path_count >= MOST_PATHS) {
                continue;
            }
            following = &parser->paths[parser->path_count++];
        }
        Link link = stack_link(parser, path.place, j < links ? j : 0);
        parser->steps++;
        uint32_t cell = lists && link.piece != NONE ? cell_new(parser, link.piece, path.cell) : path.cell;
        bool counts = link.piece == NONE || !(parser->pieces[link.piece].flags & IS_EXTRA);
        *following = (Path){link.before, path.counted + counts, cell};
    }
}

static void end_path(Parser *parser, uint32_t i) {
    parser->path_count--;
    memmove(&parser->paths[i], &parser->paths[i + 1], (parser->path_count - i) * sizeof(Path));
}

static void begin_paths(Parser *parser, uint32_t version) {
    parser->cut_count = parser->cell_count = 0;
    parser->paths[0] = (Path){parser->heads[version].place, 0, NONE};
    parser->path_count = 1;
}

/* Follows all paths down from a version's place, until `count` pieces that are no extras are passed; to the begin with NONE. */
void stack_pop(Parser *parser, uint32_t version, uint32_t count) {
    begin_paths(parser, version);
    while (parser->path_count && !parser->failed) {
        uint32_t size = parser->path_count;
        for (uint32_t i = 0; i < size && !parser->failed; i++) {
            Path path = parser->paths[i];
            uint32_t links = parser->places[path.place].links;
            bool is_there = count == NONE ? links == 0 : path.counted == count;
            if (is_there) {
                add_cut(parser, version, path.place, path.cell);
            }
            if (is_there || links == 0) {
                end_path(parser, i--);
                size--;
                continue;
            }
            branch(parser, i, true);
        }
    }
}

/* Keeps what lies below a version's place, not too deep: the states that mending may come back to. */
void stack_summarize(Parser *parser, uint32_t version) {
    uint32_t first = (uint32_t)(parser->resorts.used / sizeof(Resort)), count = 0;
    begin_paths(parser, version);
    while (parser->path_count && !parser->failed) {
        uint32_t size = parser->path_count;
        for (uint32_t i = 0; i < size && !parser->failed; i++) {
            Path path = parser->paths[i];
            const Place *place = &parser->places[path.place];
            bool is_deep = path.counted > DEEPEST_RESORT, is_known = is_deep;
            for (uint32_t j = count; j-- > 0 && !is_known;) {
                const Resort *known = (const Resort *)(const void *)parser->resorts.data + first + j;
                if (known->depth < path.counted) {
                    break;
                }
                is_known = known->depth == path.counted && known->state == place->state;
            }
            if (!is_known) {
                Resort resort = {place->position, path.counted, place->state};
                if (parser->resorts.used > MOST_RESORTS || bytes_append(&parser->resorts, &resort, sizeof resort) < 0) {
                    parser->failed = true;
                    return;
                }
                count++;
            }
            if (is_deep || place->links == 0) {
                end_path(parser, i--);
                size--;
                continue;
            }
            branch(parser, i, false);
        }
    }
    parser->heads[version].summary = first;
    parser->heads[version].summary_count = count;
}

/* Whether a version has read anything since something was mended. */
bool stack_has_advanced(const Parser *parser, uint32_t version) {
    const Head *head = &parser->heads[version];
    uint32_t place = head->place;
    if (toll_at(parser, place) == 0) {
        return true;
    }
    while (parser->places[place].links && parser->places[place].piece != NONE) {
        uint32_t piece = parser->places[place].piece;
        if (parser->pieces[piece].end > parser->pieces[piece].begin) {
            return true;
        }
        if (parser->tolls[place].nodes <= head->nodes_at_error || piece_cost(parser, piece)) {
            return false;
        }
        place = parser->places[place].before;
    }
    return false;
}

uint32_t stack_nodes_since_error(Parser *parser, uint32_t version) {
    Head *head = &parser->heads[version];
    uint32_t nodes = parser->mends ? parser->tolls[head->place].nodes : 0;
    if (nodes < head->nodes_at_error) {
        head->nodes_at_error = nodes;
    }
    return nodes - head->nodes_at_error;
}

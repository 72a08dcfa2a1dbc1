/* How reading goes on where a token is out of place: by tree-sitter's rules, so that the tree is the same.

   All that could be completed is completed. Then either a token is put in that was missing, or what was read since an earlier state
   that knows the token becomes an error, or the token itself is passed over. These are versions like others; each has its cost, and
   the cheapest is kept. */

#include "treesitter/parser.h"

#include <stdlib.h>

/* How many lines end before a place. */
static uint32_t lines_before(const Parser *parser, uint32_t place) {
    const uint32_t *ends = (const uint32_t *)(const void *)parser->lines.data;
    uint32_t low = 0, high = (uint32_t)(parser->lines.used / sizeof *ends);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ends[middle] < place) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint32_t lines_between(Parser *parser, uint32_t from, uint32_t to) {
    if (parser->lines.used == 0) {
        /* Asked again and again: they are found once. The end of the text makes the list end. */
        for (uint32_t i = 0; i <= parser->reader.size; i++) {
            if ((i == parser->reader.size || parser->reader.text[i] == '\n') && bytes_append_number(&parser->lines, i) < 0) {
                parser->failed = true;
                return 0;
            }
        }
    }
    return lines_before(parser, to) - lines_before(parser, from);
}

Status version_status(Parser *parser, uint32_t version) {
    const Head *head = &parser->heads[version];
    const Place *place = &parser->places[head->place];
    Status status = {
        parser->mends ? parser->tolls[head->place].cost : 0, stack_nodes_since_error(parser, version), place->precedence,
        head->status == PAUSED || place->state == 0};
    if (head->status == PAUSED) {
        status.cost += COST_RECOVERY + COST_TREE;
    } else if (place->state == 0 && place->piece == NONE) {
        status.cost += COST_RECOVERY;
    }
    return status;
}

/* Above zero where the first of two versions is to be preferred, below where the second is; by two where the other is hopeless. */
int version_preference(Status a, Status b) {
    if (a.in_error != b.in_error) {
        bool is_clear = a.in_error ? b.cost < a.cost : a.cost < b.cost;
        return (is_clear ? 2 : 1) * (a.in_error ? -1 : 1);
    }
    if (a.cost < b.cost) {
        return (uint64_t)(b.cost - a.cost) * (1 + (uint64_t)a.nodes) > MOST_DIFFERENCE ? 2 : 1;
    }
    if (b.cost < a.cost) {
        return (uint64_t)(a.cost - b.cost) * (1 + (uint64_t)b.nodes) > MOST_DIFFERENCE ? -2 : -1;
    }
    return (a.precedence > b.precedence) - (a.precedence < b.precedence);
}

/* Whether a version that would cost so much has no chance against another. */
static bool is_beaten(Parser *parser, uint32_t version, uint32_t cost) {
    if (parser->finished != NONE && piece_cost(parser, parser->finished) <= cost) {
        return true;
    }
    const Place *place = &parser->places[parser->heads[version].place];
    Status status = {cost, stack_nodes_since_error(parser, version), place->precedence, false};
    for (uint32_t i = 0; i < parser->head_count; i++) {
        if (i == version || parser->heads[i].status != ACTIVE ||
            parser->places[parser->heads[i].place].position < place->position) {
            continue;
        }
        int preferred = version_preference(status, version_status(parser, i));
        if (preferred == -2 || (preferred == -1 && stack_can_merge(parser, i, version))) {
            return true;
        }
    }
    return false;
}

static uint32_t copy_version(Parser *parser, uint32_t version) {
    if (parser->head_count >= MOST_HEADS) {
        parser->failed = true;
        return version;
    }
    Head copy = parser->heads[version];
    copy.summary = NONE;
    parser->heads[parser->head_count] = copy;
    return parser->head_count++;
}

enum { MOST_REDUCTIONS = 256, TOKENS_PER_STEP = 4 /* that are looked up one after the other */ };

/* Completes everything that could be, before any token or before one; whether that one could follow then. */
static bool reduce_all(Parser *parser, uint32_t from, Symbol before) {
    uint32_t count_at_first = parser->head_count, version = from;
    bool can_follow = false;
    for (uint32_t round = 0; !parser->failed; round++) {
        uint32_t count = parser->head_count;
        if (version >= count) {
            break;
        }
        bool merged = false;
        for (uint32_t i = count_at_first; i < version && !merged; i++) {
            merged = stack_merge(parser, i, version);
        }
        if (merged) {
            continue;
        }
        State state = parser->places[parser->heads[version].place].state;
        Action reductions[MOST_REDUCTIONS];
        uint32_t reduction_count = 0;
        bool has_shift = false;
        Symbol first = before ? before : 1, end = before ? (Symbol)(before + 1) : (Symbol)parser->grammar->tokens;
        parser->steps += (end - first) / TOKENS_PER_STEP;
        for (Symbol symbol = first; symbol < end; symbol++) {
            const ActionEntry *entry = actions_for(parser, state, symbol);
            for (uint32_t i = 0; i < entry->head.count; i++) {
                Action action = entry[1 + i].action;
                if (action.type == SHIFT || action.type == RECOVER) {
                    has_shift |= !action.shift.extra && !action.shift.repetition;
                } else if (action.type == REDUCE && action.reduce.count) {
                    bool is_known = false;
                    for (uint32_t j = 0; j < reduction_count && !is_known; j++) {
                        is_known = reductions[j].reduce.symbol == action.reduce.symbol && reductions[j].reduce.count == action.reduce.count;
                    }
                    if (!is_known && reduction_count == MOST_REDUCTIONS) {
                        parser->failed = true;
                        return false;
                    }
                    if (!is_known) {
                        reductions[reduction_count++] = action;
                    }
                }
            }
        }
        uint32_t made = NONE;
        for (uint32_t i = 0; i < reduction_count && !parser->failed; i++) {
            made = reduce(parser, version, reductions[i], false);
        }
        if (has_shift) {
            can_follow = true;
        } else if (made != NONE && round < MOST_VERSIONS) {
            stack_replace(parser, made, version);
            continue;
        } else if (before) {
            stack_remove(parser, version);
        }
        version = version == from ? count : version + 1;
    }
    return can_follow;
}

/* Whether a version that has a missing token put in can go on with the token at hand. */
static bool put_in_missing(Parser *parser, uint32_t version, uint32_t token) {
    Symbol symbol = parser->pieces[token].symbol;
    State state = parser->places[parser->heads[version].place].state;
    parser->steps += parser->grammar->tokens / TOKENS_PER_STEP;
    for (Symbol missing = 1; missing < parser->grammar->tokens && !parser->failed; missing++) {
        State after = grammar_next(parser, state, missing);
        if (after == 0 || after == state) {
            continue;
        }
        const ActionEntry *entry = actions_for(parser, after, symbol);
        if (entry->head.count == 0 || entry[1].action.type != REDUCE) {
            continue;
        }
        uint32_t made = copy_version(parser, version), piece = piece_new(parser);
        if (parser->failed) {
            return false;
        }
        uint32_t position = parser->places[parser->heads[version].place].position;
        parser->pieces[piece] = (Piece){position, position, position, 0, 0, 0, missing, 0, 0, IS_MISSING};
        parser->tallies[piece].cost = COST_MISSING + COST_RECOVERY;
        stack_push(parser, made, piece, after);
        if (!parser->failed && reduce_all(parser, made, symbol)) {
            return true;
        }
    }
    return false;
}

/* An error that the first link of a version's place, or another, is: taken off, as the path that leads to it; NONE without. */
static uint32_t pop_error(Parser *parser, uint32_t version) {
    uint32_t place = parser->heads[version].place;
    for (uint32_t i = 0; i < parser->places[place].links; i++) {
        Link link = stack_link(parser, place, i);
        if (link.piece != NONE && parser->pieces[link.piece].symbol == SYMBOL_ERROR) {
            parser->heads[version].place = link.before;
            return link.piece;
        }
    }
    return NONE;
}

/* Goes back to a state, over `depth` pieces that become an error; whether a version could. */
static bool recover_to(Parser *parser, uint32_t version, uint32_t depth, State state) {
    stack_pop(parser, version, depth);
    uint32_t previous = NONE, count = parser->cut_count;
    Cut cuts[MOST_PATHS + 1];
    memcpy(cuts, parser->cuts, count * sizeof *cuts);
    for (uint32_t i = 0; i < count && !parser->failed; i++) {
        Cut cut = cuts[i];
        if (cut.version == previous) {
            continue;
        }
        if (parser->places[parser->heads[cut.version].place].state != state) {
            parser->heads[cut.version].status = HALTED;
            continue;
        }
        uint32_t error = pop_error(parser, cut.version);
        uint32_t inner = error == NONE ? 0 : parser->pieces[error].count;
        uint32_t position = parser->places[parser->heads[cut.version].place].position;
        if (!children_room(parser, inner)) {
            return false;
        }
        for (uint32_t j = 0; j < inner; j++) {
            parser->children[parser->child_count++] = parser->children[parser->pieces[error].children + j];
        }
        uint32_t listed = list_children(parser, cut.cell, &parser->extras);
        /* Extras at the end of an error that was there already follow what is made too. */
        if (listed == 0) {
            uint32_t kept = inner;
            while (kept && parser->pieces[parser->children[parser->child_count - inner + kept - 1]].flags & IS_EXTRA) {
                kept--;
            }
            if (kept < inner) {
                Bytes extras = {0};
                if (bytes_append(&extras, parser->children + parser->child_count - inner + kept, (inner - kept) * sizeof(uint32_t)) < 0 ||
                    bytes_append(&extras, parser->extras.data, parser->extras.used) < 0) {
                    parser->failed = true;
                }
                bytes_free(&parser->extras);
                parser->extras = extras;
                parser->child_count -= inner - kept;
                inner = kept;
            }
        }
        if (inner + listed) {
            uint32_t made = piece_made(parser, SYMBOL_ERROR, 0, inner + listed, position);
            if (parser->failed) {
                return false;
            }
            parser->pieces[made].flags |= IS_EXTRA;
            stack_push(parser, cut.version, made, state);
        }
        for (size_t j = 0; j < parser->extras.used && !parser->failed; j += sizeof(uint32_t)) {
            uint32_t extra;
            memcpy(&extra, parser->extras.data + j, sizeof extra);
            stack_push(parser, cut.version, extra, state);
        }
        previous = cut.version;
    }
    return previous != NONE;
}

/* Tries the states that lay below when mending began; whether the token can follow one of them. */
static bool recover_earlier(Parser *parser, uint32_t version, uint32_t token, uint32_t nodes, uint32_t cost) {
    Head head = parser->heads[version];
    Symbol symbol = parser->pieces[token].symbol;
    uint32_t count = parser->head_count, position = parser->places[head.place].position;
    if (head.summary == NONE || symbol == SYMBOL_ERROR) {
        return false;
    }
    for (uint32_t i = 0; i < head.summary_count && !parser->failed; i++) {
        Resort resort = ((const Resort *)(const void *)parser->resorts.data)[head.summary + i];
        if (resort.state == 0 || resort.position == position) {
            continue;
        }
        bool would_merge = false;
        for (uint32_t j = 0; j < count && !would_merge; j++) {
            const Place *place = &parser->places[parser->heads[j].place];
            would_merge = place->state == resort.state && place->position == position;
        }
        if (would_merge) {
            continue;
        }
        uint32_t total = cost + resort.depth * COST_TREE + (position - resort.position) +
                         lines_between(parser, resort.position, position) * COST_LINE;
        if (is_beaten(parser, version, total)) {
            return false;
        }
        if (grammar_lookup(parser, resort.state, symbol) && recover_to(parser, version, resort.depth + (nodes > 0), resort.state)) {
            return true;
        }
    }
    return false;
}

/* A version that has read a token which nothing knows at this place. */
void recover(Parser *parser, uint32_t version, uint32_t token) {
    uint32_t count = parser->head_count;
    parser->floor = UINT32_MAX;
    uint32_t nodes = stack_nodes_since_error(parser, version), cost = version_status(parser, version).cost;
    bool did_recover = recover_earlier(parser, version, token, nodes, cost);
    for (uint32_t i = count; i < parser->head_count; i++) {
        if (parser->heads[i].status != ACTIVE) {
            stack_remove(parser, i--);
        }
    }
    if (parser->failed) {
        return;
    }
    if (parser->pieces[token].symbol == SYMBOL_END) {
        uint32_t nothing = piece_made(parser, SYMBOL_ERROR, 0, 0, parser->places[parser->heads[version].place].position);
        if (nothing != NONE) {
            stack_push(parser, version, nothing, 1);
            accept_text(parser, version, token);
        }
        return;
    }
    const Piece *piece = &parser->pieces[token];
    cost += COST_TREE + (piece->end - piece->begin) + COST_LINE * lines_between(parser, piece->begin, piece->end);
    if ((did_recover && (parser->head_count > MOST_VERSIONS || piece->flags & IS_CHANGING)) || is_beaten(parser, version, cost)) {
        parser->heads[version].status = HALTED;
        return;
    }
    const ActionEntry *entry = actions_for(parser, 1, piece->symbol);
    if (entry->head.count) {
        Action last = entry[entry->head.count].action;
        if (last.type == SHIFT && last.shift.extra && !(piece->flags & IS_EXTRA)) {
            token = piece_copy(parser, token);
            if (token == NONE) {
                return;
            }
            parser->pieces[token].flags |= IS_EXTRA;
        }
    }
    uint32_t position = parser->places[parser->heads[version].place].position;
    if (!children_room(parser, 1)) {
        return;
    }
    parser->children[parser->child_count++] = token;
    uint32_t passed = piece_made(parser, SYMBOL_PASSED, 0, 1, position);
    if (passed != NONE && nodes > 0) {
        /* More than one in a row are one. */
        stack_pop(parser, version, 1);
        if (parser->failed || parser->cut_count == 0) {
            parser->failed = true;
            return;
        }
        Cut cut = parser->cuts[0];
        if (parser->cut_count > 1) {
            parser->head_count = cut.version + 1;
        }
        uint32_t listed = 0;
        for (uint32_t at = cut.cell; at != NONE && children_room(parser, 1); at = parser->cells[at].above) {
            parser->children[parser->child_count++] = parser->cells[at].piece;
            listed++;
        }
        stack_replace(parser, cut.version, version);
        if (!children_room(parser, 1)) {
            return;
        }
        parser->children[parser->child_count++] = passed;
        passed = piece_made(parser, SYMBOL_PASSED, 0, listed + 1, position);
    }
    if (passed == NONE) {
        return;
    }
    stack_push(parser, version, passed, 0);
    if (parser->pieces[token].flags & IS_EXTERNAL) {
        parser->heads[version].scanned = parser->pieces[token].children;
    }
}

/* A version that waits begins to mend. */
void mend(Parser *parser, uint32_t version) {
    uint32_t token = parser->heads[version].waiting, first = parser->head_count;
    parser->heads[version].status = ACTIVE;
    parser->heads[version].waiting = NONE;
    parser->floor = UINT32_MAX;
    reduce_all(parser, version, 0);
    uint32_t end = parser->head_count;
    bool did_put_in = false;
    for (uint32_t i = version; i < end && !parser->failed; i = i == version ? first : i + 1) {
        if (!did_put_in) {
            did_put_in = put_in_missing(parser, i, token);
        }
        stack_push(parser, i, NONE, 0);
    }
    for (uint32_t i = first; i < end && !parser->failed; i++) {
        if (!stack_merge(parser, version, first)) {
            parser->failed = true;
        }
    }
    if (!parser->failed) {
        stack_summarize(parser, version);
    }
    if (!parser->failed) {
        recover(parser, version, token);
    }
}

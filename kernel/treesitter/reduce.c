/* Pieces of the tree, and how productions make larger ones of them. */

#include "treesitter/parser.h"

uint32_t piece_new(Parser *parser) {
    if (parser->piece_count >= parser->most_pieces) {
        parser->failed = true;
        return NONE;
    }
    if (!room_for(parser, (void **)&parser->pieces, &parser->piece_room, parser->piece_count + 1, sizeof(Piece))) {
        parser->failed = true;
        return NONE;
    }
    if (parser->mends) {
        if (!room_for(parser, (void **)&parser->tallies, &parser->tally_room, parser->piece_count + 1, sizeof(Tally))) {
            parser->failed = true;
            return NONE;
        }
        parser->tallies[parser->piece_count] = (Tally){0, 0, 0};
    }
    return parser->piece_count++;
}

uint32_t piece_copy(Parser *parser, uint32_t number) {
    uint32_t copy = piece_new(parser);
    if (copy != NONE) {
        parser->pieces[copy] = parser->pieces[number];
        if (parser->mends) {
            parser->tallies[copy] = parser->tallies[number];
        }
    }
    return copy;
}

/* Room for `count` children more. An error that grows token by token lists all that it had each time. */
bool children_room(Parser *parser, uint32_t count) {
    if ((uint64_t)parser->child_count + count > parser->most_children) {
        parser->failed = true;
        return false;
    }
    if (!room_for(parser, (void **)&parser->children, &parser->child_room, parser->child_count + count, sizeof(uint32_t))) {
        parser->failed = true;
        return false;
    }
    return true;
}

/* What there is to see in a piece, and what it took to read it. */
static Tally tally_of(Parser *parser, const Piece *piece) {
    const Grammar *grammar = parser->grammar;
    bool is_error = piece->symbol == SYMBOL_ERROR || piece->symbol == SYMBOL_PASSED;
    const Symbol *aliases =
        piece->production ? grammar->alias_sequences + (size_t)piece->production * grammar->longest_production : NULL;
    Tally tally = {0, 0, 0};
    uint32_t position = 0;
    for (uint32_t i = 0; i < piece->count; i++) {
        uint32_t number = parser->children[piece->children + i];
        const Piece *child = &parser->pieces[number];
        const Tally *inner = &parser->tallies[number];
        bool is_extra = child->flags & IS_EXTRA, is_seen = is_visible(grammar, child->symbol);
        if (child->symbol != SYMBOL_PASSED) {
            tally.cost += inner->cost;
        }
        if (is_error && !is_extra && !(child->symbol == SYMBOL_ERROR && child->count == 0)) {
            tally.cost += is_seen ? COST_TREE : child->count ? COST_TREE * inner->visible : 0;
        }
        tally.below += inner->below;
        if ((!is_extra && child->symbol && aliases != NULL && aliases[position]) || is_seen) {
            tally.below++;
            tally.visible++;
        } else if (child->count) {
            tally.visible += inner->visible;
        }
        position += !is_extra;
    }
    if (is_error) {
        tally.cost += COST_RECOVERY + (piece->end - piece->start) + COST_LINE * lines_between(parser, piece->start, piece->end);
    }
    return tally;
}

/* A piece of the last `count` children that were listed; an empty one is where the text has been read to. */
uint32_t piece_made(Parser *parser, Symbol symbol, uint16_t production, uint32_t count, uint32_t position) {
    uint32_t number = piece_new(parser);
    if (number == NONE) {
        return NONE;
    }
    const uint32_t *children = parser->children + (parser->child_count - count);
    Piece piece = {position, position, position, parser->child_count - count, count, 0, symbol, production, 0, 0};
    if (count) {
        const Piece *first = &parser->pieces[children[0]];
        piece.begin = first->begin;
        piece.start = first->start;
        piece.end = parser->pieces[children[count - 1]].end;
        for (uint32_t i = 0; i < count; i++) {
            piece.precedence += parser->pieces[children[i]].precedence;
        }
    }
    parser->pieces[number] = piece;
    if (parser->mends) {
        parser->tallies[number] = tally_of(parser, &piece);
    }
    return number;
}

/* Lists the pieces of a path as children, but for the extras at its end, which go to `extras`. */
uint32_t list_children(Parser *parser, uint32_t cell, Bytes *extras) {
    uint32_t count = 0, kept = 0;
    extras->used = 0;
    for (uint32_t at = cell; at != NONE; at = parser->cells[at].above) {
        count++;
        if (!(parser->pieces[parser->cells[at].piece].flags & IS_EXTRA)) {
            kept = count;
        }
    }
    if (!children_room(parser, kept)) {
        return 0;
    }
    uint32_t number = 0;
    for (uint32_t at = cell; at != NONE; at = parser->cells[at].above, number++) {
        uint32_t piece = parser->cells[at].piece;
        if (number < kept) {
            parser->children[parser->child_count++] = piece;
        } else if (bytes_append_number(extras, piece) < 0) {
            parser->failed = true;
        }
    }
    return kept;
}

/* Below zero where the first of two trees comes first, above where the second does. */
static int compare(Parser *parser, uint32_t left, uint32_t right) {
    Bytes pending = {0};
    uint32_t pair[2] = {left, right};
    int result = 0;
    if (bytes_append(&pending, pair, sizeof pair) < 0) {
        parser->failed = true;
    }
    while (!parser->failed && !result && pending.used) {
        pending.used -= sizeof pair;
        memcpy(pair, pending.data + pending.used, sizeof pair);
        const Piece *a = &parser->pieces[pair[0]], *b = &parser->pieces[pair[1]];
        parser->steps++;
        if (a->symbol != b->symbol) {
            result = a->symbol < b->symbol ? -1 : 1;
        } else if (a->count != b->count) {
            result = a->count < b->count ? -1 : 1;
        }
        for (uint32_t i = result ? 0 : a->count; i-- > 0;) {
            uint32_t inner[2] = {parser->children[a->children + i], parser->children[b->children + i]};
            if (inner[0] != inner[1] && bytes_append(&pending, inner, sizeof inner) < 0) {
                parser->failed = true;
            }
        }
    }
    bytes_free(&pending);
    return result;
}

/* Whether the second of two readings of the same text is the better one. */
static bool is_better(Parser *parser, uint32_t known, uint32_t other) {
    uint32_t cost = piece_cost(parser, known), other_cost = piece_cost(parser, other);
    if (cost != other_cost) {
        return other_cost < cost;
    }
    int32_t a = parser->pieces[known].precedence, b = parser->pieces[other].precedence;
    return a != b ? b > a : cost > 0 || compare(parser, known, other) > 0;
}

static void push_made(Parser *parser, uint32_t version, uint32_t made, int16_t precedence, bool ends_extra, const Bytes *extras) {
    State state = parser->places[parser->heads[version].place].state;
    Piece *piece = &parser->pieces[made];
    State next = grammar_next(parser, state, piece->symbol);
    if (ends_extra && next == state) {
        piece->flags |= IS_EXTRA;
    }
    if (piece->count) {
        piece->precedence += precedence;
    }
    stack_push(parser, version, made, next);
    for (size_t i = 0; i < extras->used && !parser->failed; i += sizeof(uint32_t)) {
        uint32_t extra;
        memcpy(&extra, extras->data + i, sizeof extra);
        stack_push(parser, version, extra, next);
    }
}

/* The usual case, of one version whose stack is a chain as far as it matters: nothing branches, nothing merges. */
bool reduce_chain(Parser *parser, Action action, bool ends_extra) {
    uint32_t place = parser->heads[0].place, wanted = action.reduce.count, count = 0;
    bool after_last = true;
    uint32_t extras = 0;
    parser->extras.used = 0;
    if (parser->floor == UINT32_MAX) {
        parser->floor = parser->place_count;
    }
    for (uint32_t left = wanted; left;) {
        const Place *from = &parser->places[place];
        if (from->links != 1) {
            return false;
        }
        if (!(parser->pieces[from->piece].flags & IS_EXTRA)) {
            left--;
            after_last = false;
        }
        if (after_last) {
            extras++;
        } else {
            count++;
        }
        place = from->before;
    }
    if (!children_room(parser, count)) {
        return true;
    }
    uint32_t from = parser->heads[0].place;
    for (uint32_t i = 0; i < extras; i++, from = parser->places[from].before) {
        if (bytes_append_number(&parser->extras, parser->places[from].piece) < 0) {
            parser->failed = true;
            return true;
        }
    }
    /* They were met from the top down. */
    uint32_t *list = (uint32_t *)(void *)parser->extras.data;
    for (uint32_t i = 0; i < extras / 2; i++) {
        uint32_t swapped = list[i];
        list[i] = list[extras - 1 - i];
        list[extras - 1 - i] = swapped;
    }
    for (uint32_t i = count; i-- > 0; from = parser->places[from].before) {
        parser->children[parser->child_count + i] = parser->places[from].piece;
    }
    parser->child_count += count;
    uint32_t made =
        piece_made(parser, action.reduce.symbol, action.reduce.production, count, parser->places[place].position);
    if (made == NONE) {
        return true;
    }
    /* What was passed is nobody else's: the room of its places is used again. */
    parser->place_count = place + 1 > parser->floor ? place + 1 : parser->floor;
    parser->heads[0].place = place;
    push_made(parser, 0, made, action.reduce.precedence, ends_extra, &parser->extras);
    return true;
}

/* Follows a production on a version of its own; the number of the first version that came of it, or NONE. */
uint32_t reduce(Parser *parser, uint32_t version, Action action, bool ends_extra) {
    uint32_t before = parser->head_count, removed = 0, halted = 0;
    stack_pop(parser, version, action.reduce.count);
    for (uint32_t i = 0; i < parser->head_count; i++) {
        halted += parser->heads[i].status == HALTED;
    }
    for (uint32_t i = 0; i < parser->cut_count && !parser->failed; i++) {
        Cut cut = parser->cuts[i];
        uint32_t made_version = cut.version - removed;
        if (made_version > MOST_VERSIONS + VERSIONS_OVER + halted) {
            stack_remove(parser, made_version);
            removed++;
            while (i + 1 < parser->cut_count && parser->cuts[i + 1].version == cut.version) {
                i++;
            }
            continue;
        }
        uint32_t position = parser->places[parser->heads[made_version].place].position;
        uint32_t count = list_children(parser, cut.cell, &parser->extras);
        uint32_t made = piece_made(parser, action.reduce.symbol, action.reduce.production, count, position);
        while (i + 1 < parser->cut_count && parser->cuts[i + 1].version == cut.version && !parser->failed) {
            i++;
            count = list_children(parser, parser->cuts[i].cell, &parser->other_extras);
            uint32_t other = piece_made(parser, action.reduce.symbol, action.reduce.production, count, position);
            if (!parser->failed && is_better(parser, made, other)) {
                made = other;
                Bytes swapped = parser->extras;
                parser->extras = parser->other_extras;
                parser->other_extras = swapped;
            }
        }
        if (parser->failed) {
            break;
        }
        push_made(parser, made_version, made, action.reduce.precedence, ends_extra, &parser->extras);
        for (uint32_t j = 0; j < made_version && !parser->failed; j++) {
            if (j != version && stack_merge(parser, j, made_version)) {
                removed++;
                break;
            }
        }
    }
    return parser->head_count > before ? before : NONE;
}

/* The end of the text is reached: what was read becomes the tree, with what stands before and after it. */
void accept_text(Parser *parser, uint32_t version, uint32_t token) {
    stack_push(parser, version, token, 1);
    if (parser->failed) {
        return;
    }
    stack_pop(parser, version, NONE);
    for (uint32_t i = 0; i < parser->cut_count && !parser->failed; i++) {
        uint32_t whole = NONE, total = 0;
        for (uint32_t at = parser->cuts[i].cell; at != NONE; at = parser->cells[at].above) {
            uint32_t piece = parser->cells[at].piece;
            whole = parser->pieces[piece].flags & IS_EXTRA ? whole : piece;
            total++;
        }
        if (whole == NONE || !children_room(parser, total + parser->pieces[whole].count)) {
            parser->failed = true;
            return;
        }
        Piece inner = parser->pieces[whole];
        uint32_t begin = parser->child_count;
        for (uint32_t at = parser->cuts[i].cell; at != NONE; at = parser->cells[at].above) {
            if (parser->cells[at].piece != whole) {
                parser->children[parser->child_count++] = parser->cells[at].piece;
                continue;
            }
            for (uint32_t k = 0; k < inner.count; k++) {
                parser->children[parser->child_count++] = parser->children[inner.children + k];
            }
        }
        uint32_t root = piece_made(parser, inner.symbol, inner.production, parser->child_count - begin, 0);
        parser->accepted++;
        if (root != NONE && (parser->finished == NONE || is_better(parser, parser->finished, root))) {
            parser->finished = root;
        }
    }
    if (parser->cut_count) {
        stack_remove(parser, parser->cuts[0].version);
    }
    parser->heads[version].status = HALTED;
}

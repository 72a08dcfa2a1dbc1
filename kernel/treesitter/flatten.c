/* The tree as everybody sees it: hidden pieces are replaced by what is in them, and names and roles are those of the productions. */

#include "treesitter/parser.h"

typedef struct {
    const uint32_t *next, *end; /* the children that are still to be looked at */
    const Symbol *aliases; /* of the production's children, or none */
    const FieldEntry *roles;
    uint32_t role_count;
    uint32_t position; /* among the children that are no extras */
    uint32_t owner; /* the visible node around it */
    uint16_t above; /* the role of the hidden piece in which we are */
    bool visible;
} Frame;

/* The role that a production itself gives to a child. */
static inline uint16_t role(const Frame *frame) {
    for (uint32_t i = 0; i < frame->role_count; i++) {
        if (frame->roles[i].child == frame->position && !frame->roles[i].inherited) {
            return frame->roles[i].field;
        }
    }
    return 0;
}

static bool push_frame(Parser *parser, const Piece *piece, uint32_t owner, uint16_t above, bool visible) {
    const Grammar *grammar = parser->grammar;
    if (parser->frames.room - parser->frames.used < sizeof(Frame) && bytes_reserve(&parser->frames, sizeof(Frame)) < 0) {
        return false;
    }
    Frame *frame = (Frame *)(void *)(parser->frames.data + parser->frames.used);
    frame->next = parser->children + piece->children;
    frame->end = frame->next + piece->count;
    frame->aliases = piece->production ? grammar->alias_sequences + (size_t)piece->production * grammar->longest_production : NULL;
    Slice slice = grammar->fields ? grammar->field_slices[piece->production] : (Slice){0, 0};
    frame->roles = grammar->field_entries + slice.first;
    frame->role_count = slice.count;
    frame->position = 0;
    frame->owner = owner;
    frame->above = above;
    frame->visible = visible;
    parser->frames.used += sizeof(Frame);
    return true;
}

static bool push_node(Parser *parser, uint32_t number, Symbol symbol, uint32_t parent, uint16_t field) {
    const Grammar *grammar = parser->grammar;
    const Piece *piece = &parser->pieces[number];
    if (!room_for(parser, (void **)&parser->flat, &parser->flat_room, parser->flat_count + 1, sizeof(Visible))) {
        return false;
    }
    bool is_error = symbol == SYMBOL_ERROR;
    Visible *node = &parser->flat[parser->flat_count++];
    node->start = piece->start;
    node->end = piece->end;
    node->parent = parent;
    node->after = parser->flat_count;
    node->piece = number;
    node->symbol = is_error ? symbol : grammar->public_symbols[symbol];
    node->field = field;
    node->flags = is_error || grammar->kinds[symbol].named ? NODE_NAMED : 0;
    if (piece_cost(parser, number)) {
        node->flags |= NODE_BROKEN;
    }
    if (piece->flags & IS_MISSING) {
        node->flags |= NODE_MISSING;
    }
    return true;
}

uint32_t parser_flatten(Parser *parser) {
    const Grammar *grammar = parser->grammar;
    const Piece *root = &parser->pieces[parser->finished];
    parser->flat_count = 0;
    parser->frames.used = 0;
    if (!push_node(parser, parser->finished, root->symbol, NONE, 0) || !push_frame(parser, root, 0, 0, true)) {
        return NONE;
    }
    while (parser->frames.used) {
        Frame *frame = (Frame *)(void *)(parser->frames.data + parser->frames.used - sizeof(Frame));
        if (frame->next == frame->end) {
            if (frame->visible) {
                parser->flat[frame->owner].after = parser->flat_count;
            }
            parser->frames.used -= sizeof(Frame);
            continue;
        }
        uint32_t number = *frame->next++;
        const Piece *child = &parser->pieces[number];
        bool is_extra = child->flags & IS_EXTRA;
        Symbol symbol = child->symbol, alias = 0;
        uint16_t field = 0;
        if (!is_extra) {
            if (frame->aliases != NULL && (alias = frame->aliases[frame->position])) {
                symbol = alias;
            }
            field = role(frame);
            frame->position++;
        }
        if (alias || is_visible(grammar, symbol)) {
            uint16_t shown = is_extra ? 0 : field ? field : frame->above;
            uint32_t own = parser->flat_count;
            if (!push_node(parser, number, symbol, frame->owner, shown) ||
                (child->count && !push_frame(parser, child, own, 0, true))) {
                return NONE;
            }
        } else if (child->count) {
            uint16_t above = is_extra ? 0 : field ? field : frame->above;
            if (!push_frame(parser, child, frame->owner, above, false)) {
                return NONE;
            }
        }
    }
    return parser->flat_count;
}

/* A piece whose children are searched for a role. */
typedef struct {
    uint32_t piece, next, position;
    const FieldEntry *entry, *end;
} Look;

static bool push_look(Parser *parser, uint32_t piece, uint16_t field) {
    const Grammar *grammar = parser->grammar;
    Slice slice = grammar->field_slices[parser->pieces[piece].production];
    Look look = {piece, 0, 0, grammar->field_entries + slice.first, grammar->field_entries + slice.first + slice.count};
    while (look.entry < look.end && look.entry->field < field) {
        look.entry++;
    }
    while (look.end > look.entry && look.end[-1].field > field) {
        look.end--;
    }
    if (look.entry == look.end) {
        return true; /* no role of that name: nothing to look at */
    }
    return bytes_append(&parser->frames, &look, sizeof look) == 0;
}

static Symbol alias_of(const Parser *parser, const Piece *piece, uint32_t position) {
    const Grammar *grammar = parser->grammar;
    return piece->production ? grammar->alias_sequences[(size_t)piece->production * grammar->longest_production + position] : 0;
}

/* Where a search for something visible has come to in a piece. */
typedef struct {
    uint32_t piece, next, position;
} Spot;

/* The first visible piece in a hidden one. Lists are as deep as they are long, so this does not call itself. */
static uint32_t first_visible(const Parser *parser, uint32_t number) {
    Bytes spots = {0};
    Spot spot = {number, 0, 0};
    uint32_t found = NONE;
    for (;;) {
        const Piece *piece = &parser->pieces[spot.piece];
        if (spot.next == piece->count) {
            if (spots.used == 0) {
                break;
            }
            spots.used -= sizeof spot;
            memcpy(&spot, spots.data + spots.used, sizeof spot);
            continue;
        }
        uint32_t child = parser->children[piece->children + spot.next++];
        bool is_extra = parser->pieces[child].flags & IS_EXTRA;
        Symbol alias = is_extra ? 0 : alias_of(parser, piece, spot.position++);
        if (alias || is_visible(parser->grammar, parser->pieces[child].symbol)) {
            found = child;
            break;
        }
        if (parser->pieces[child].count) {
            if (bytes_append(&spots, &spot, sizeof spot) < 0) {
                break;
            }
            spot = (Spot){child, 0, 0};
        }
    }
    bytes_free(&spots);
    return found;
}

/* Looks on in the innermost piece; the piece that was found, or NONE where there is more to look at, or nothing. */
static uint32_t look_on(Parser *parser, uint16_t field) {
    Look *look = (Look *)(void *)(parser->frames.data + parser->frames.used - sizeof(Look));
    const Piece *piece = &parser->pieces[look->piece];
    while (look->next < piece->count && look->entry < look->end) {
        uint32_t child = parser->children[piece->children + look->next++];
        if (parser->pieces[child].flags & IS_EXTRA) {
            continue;
        }
        uint32_t position = look->position++;
        if (position < look->entry->child) {
            continue;
        }
        if (look->entry->inherited) {
            bool is_last = ++look->entry == look->end;
            if (is_last) {
                parser->frames.used -= sizeof(Look); /* nothing follows here */
            }
            if (!push_look(parser, child, field)) {
                parser->frames.used = 0;
            }
            return NONE;
        }
        if (alias_of(parser, piece, position) || is_visible(parser->grammar, parser->pieces[child].symbol)) {
            return child;
        }
        uint32_t inner = first_visible(parser, child);
        if (inner != NONE) {
            return inner;
        }
        look->entry++;
    }
    parser->frames.used -= sizeof(Look);
    return NONE;
}

uint32_t parser_child_by_field(Parser *parser, uint32_t node, uint16_t field) {
    const Visible *nodes = parser->flat;
    uint32_t found = NONE;
    parser->frames.used = 0;
    if (field == 0 || nodes[node].after == node + 1 || !push_look(parser, nodes[node].piece, field)) {
        return NONE;
    }
    while (found == NONE && parser->frames.used) {
        found = look_on(parser, field);
    }
    /* Mostly a child; but a role may be inherited from what another production shows. */
    for (uint32_t i = node + 1; found != NONE && i < nodes[node].after;) {
        if (nodes[i].piece == found) {
            return i;
        }
        const Piece *piece = &parser->pieces[found];
        i = nodes[i].start <= piece->start && piece->end <= nodes[i].end ? i + 1 : nodes[i].after;
    }
    return NONE;
}

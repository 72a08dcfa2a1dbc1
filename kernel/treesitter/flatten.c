/* The visible tree as one array: hidden subtrees are replaced by their children, with the aliases and fields of the productions. */

#include "treesitter/parser.h"

typedef struct {
    const uint32_t *next, *end; /* the children that are still to be visited */
    const TSSymbol *aliases; /* of the production's children, or NULL */
    const TSFieldMapEntry *roles;
    uint32_t role_count;
    uint32_t position; /* among the children that are not extras */
    uint32_t owner; /* the visible node around it */
    uint16_t above; /* the field of the hidden subtree around it */
    bool visible;
} Frame;

/* The field that a production gives to a child directly. */
static inline uint16_t role(const Frame *frame) {
    for (uint32_t i = 0; i < frame->role_count; i++) {
        if (frame->roles[i].child == frame->position && !frame->roles[i].inherited) {
            return frame->roles[i].field;
        }
    }
    return 0;
}

static bool push_frame(Parser *parser, const Subtree *subtree, uint32_t owner, uint16_t above, bool visible) {
    const TSLanguage *grammar = parser->grammar;
    if (parser->frames.room - parser->frames.used < sizeof(Frame) && bytes_reserve(&parser->frames, sizeof(Frame)) < 0) {
        return false;
    }
    Frame *frame = (Frame *)(void *)(parser->frames.data + parser->frames.used);
    frame->next = parser->children + subtree->children;
    frame->end = frame->next + subtree->count;
    frame->aliases = subtree->production_id ? grammar->alias_sequences + (size_t)subtree->production_id * grammar->max_alias_sequence_length : NULL;
    TSMapSlice slice = grammar->field_count ? grammar->field_map_slices[subtree->production_id] : (TSMapSlice){0, 0};
    frame->roles = grammar->field_map_entries + slice.first;
    frame->role_count = slice.count;
    frame->position = 0;
    frame->owner = owner;
    frame->above = above;
    frame->visible = visible;
    parser->frames.used += sizeof(Frame);
    return true;
}

static bool push_node(Parser *parser, uint32_t number, TSSymbol symbol, uint32_t parent, uint16_t field) {
    const TSLanguage *grammar = parser->grammar;
    const Subtree *subtree = &parser->subtrees[number];
    if (!array_reserve(parser, (void **)&parser->flat_nodes, &parser->flat_capacity, parser->flat_node_count + 1, sizeof(FlatNode))) {
        return false;
    }
    bool is_error = symbol == SYMBOL_ERROR;
    FlatNode *node = &parser->flat_nodes[parser->flat_node_count++];
    node->start = subtree->start;
    node->end = subtree->end;
    node->parent = parent;
    node->after = parser->flat_node_count;
    node->subtree = number;
    node->symbol = is_error ? symbol : grammar->public_symbol_map[symbol];
    node->field = field;
    node->flags = is_error || grammar->symbol_metadata[symbol].named ? NODE_NAMED : 0;
    if (subtree_error_cost(parser, number)) {
        node->flags |= NODE_HAS_ERROR;
    }
    if (subtree->flags & IS_MISSING) {
        node->flags |= NODE_MISSING;
    }
    return true;
}

uint32_t parser_flatten(Parser *parser) {
    const TSLanguage *grammar = parser->grammar;
    const Subtree *root = &parser->subtrees[parser->finished_tree];
    parser->flat_node_count = 0;
    parser->frames.used = 0;
    if (!push_node(parser, parser->finished_tree, root->symbol, NONE, 0) || !push_frame(parser, root, 0, 0, true)) {
        return NONE;
    }
    while (parser->frames.used) {
        Frame *frame = (Frame *)(void *)(parser->frames.data + parser->frames.used - sizeof(Frame));
        if (frame->next == frame->end) {
            if (frame->visible) {
                parser->flat_nodes[frame->owner].after = parser->flat_node_count;
            }
            parser->frames.used -= sizeof(Frame);
            continue;
        }
        uint32_t number = *frame->next++;
        const Subtree *child = &parser->subtrees[number];
        bool is_extra = child->flags & IS_EXTRA;
        TSSymbol symbol = child->symbol, alias = 0;
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
            uint32_t own = parser->flat_node_count;
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
    return parser->flat_node_count;
}

/* A subtree whose children are searched for a field. */
typedef struct {
    uint32_t subtree, next, position;
    const TSFieldMapEntry *entry, *end;
} FieldSearch;

static bool push_search(Parser *parser, uint32_t subtree, uint16_t field) {
    const TSLanguage *grammar = parser->grammar;
    TSMapSlice slice = grammar->field_map_slices[parser->subtrees[subtree].production_id];
    FieldSearch search = {subtree, 0, 0, grammar->field_map_entries + slice.first, grammar->field_map_entries + slice.first + slice.count};
    while (search.entry < search.end && search.entry->field < field) {
        search.entry++;
    }
    while (search.end > search.entry && search.end[-1].field > field) {
        search.end--;
    }
    if (search.entry == search.end) {
        return true; /* the production does not have the field */
    }
    return bytes_append(&parser->frames, &search, sizeof search) == 0;
}

static TSSymbol alias_of(const Parser *parser, const Subtree *subtree, uint32_t position) {
    const TSLanguage *grammar = parser->grammar;
    return subtree->production_id ? grammar->alias_sequences[(size_t)subtree->production_id * grammar->max_alias_sequence_length + position] : 0;
}

/* How far the search for a visible subtree has come. */
typedef struct {
    uint32_t subtree, next, position;
} Spot;

/* The first visible subtree in a hidden one. Repetitions are as deep as they are long, so this is not recursive. */
static uint32_t first_visible(const Parser *parser, uint32_t number) {
    Bytes spots = {0};
    Spot spot = {number, 0, 0};
    uint32_t found = NONE;
    for (;;) {
        const Subtree *subtree = &parser->subtrees[spot.subtree];
        if (spot.next == subtree->count) {
            if (spots.used == 0) {
                break;
            }
            spots.used -= sizeof spot;
            memcpy(&spot, spots.data + spots.used, sizeof spot);
            continue;
        }
        uint32_t child = parser->children[subtree->children + spot.next++];
        bool is_extra = parser->subtrees[child].flags & IS_EXTRA;
        TSSymbol alias = is_extra ? 0 : alias_of(parser, subtree, spot.position++);
        if (alias || is_visible(parser->grammar, parser->subtrees[child].symbol)) {
            found = child;
            break;
        }
        if (parser->subtrees[child].count) {
            if (bytes_append(&spots, &spot, sizeof spot) < 0) {
                break;
            }
            spot = (Spot){child, 0, 0};
        }
    }
    bytes_free(&spots);
    return found;
}

/* Continues in the innermost subtree; the subtree found, or NONE. */
static uint32_t continue_search(Parser *parser, uint16_t field) {
    FieldSearch *search = (FieldSearch *)(void *)(parser->frames.data + parser->frames.used - sizeof(FieldSearch));
    const Subtree *subtree = &parser->subtrees[search->subtree];
    while (search->next < subtree->count && search->entry < search->end) {
        uint32_t child = parser->children[subtree->children + search->next++];
        if (parser->subtrees[child].flags & IS_EXTRA) {
            continue;
        }
        uint32_t position = search->position++;
        if (position < search->entry->child) {
            continue;
        }
        if (search->entry->inherited) {
            bool is_last = ++search->entry == search->end;
            if (is_last) {
                parser->frames.used -= sizeof(FieldSearch); /* no further entry for the field here */
            }
            if (!push_search(parser, child, field)) {
                parser->frames.used = 0;
            }
            return NONE;
        }
        if (alias_of(parser, subtree, position) || is_visible(parser->grammar, parser->subtrees[child].symbol)) {
            return child;
        }
        uint32_t inner = first_visible(parser, child);
        if (inner != NONE) {
            return inner;
        }
        search->entry++;
    }
    parser->frames.used -= sizeof(FieldSearch);
    return NONE;
}

uint32_t parser_child_by_field(Parser *parser, uint32_t node, uint16_t field) {
    const FlatNode *nodes = parser->flat_nodes;
    uint32_t found = NONE;
    parser->frames.used = 0;
    if (field == 0 || nodes[node].after == node + 1 || !push_search(parser, nodes[node].subtree, field)) {
        return NONE;
    }
    while (found == NONE && parser->frames.used) {
        found = continue_search(parser, field);
    }
    /* Mostly a child, but a field may be inherited from deeper down. */
    for (uint32_t i = node + 1; found != NONE && i < nodes[node].after;) {
        if (nodes[i].subtree == found) {
            return i;
        }
        const Subtree *subtree = &parser->subtrees[found];
        i = nodes[i].start <= subtree->start && subtree->end <= nodes[i].end ? i + 1 : nodes[i].after;
    }
    return NONE;
}

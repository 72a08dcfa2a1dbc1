/* Reads a text by a grammar's tables, as tree-sitter does it: the same tree, but all of it in a few arrays that are dropped together.
   Where more than one action fits, all are followed until one is left or they agree; error_recovery.c goes on where none does.

   The method is generalized LR parsing with a graph-structured stack (Tomita 1985; Rekers 1992); which of two readings wins is
   tree-sitter's rule: the higher dynamic precedence, then the lower symbol or the fewer children where they first differ. */

#include "treesitter/parser.h"

#include <stdlib.h>

enum {
    /* No text needs nearly as many; one that does is made to, or in another language, and tree-sitter takes minutes for it.
       Of 27,000 real files, those that took most: 65 steps a byte and 4 million in all, 2 pieces, 2 children, 40 looks. */
    STEPS_PER_BYTE = 16,
    STEPS_ANYWAY = 8 * 1000 * 1000,
    PIECES_PER_BYTE = 4,
    PIECES_ANYWAY = 1000 * 1000,
    CHILDREN_PER_BYTE = 4,
    CHILDREN_ANYWAY = 16 * 1000 * 1000,
    LOOKS_PER_BYTE = 128,
    LOOKS_ANYWAY = 16 * 1000 * 1000,
    KEPT_PIECES = 1 << 17, /* of the room that a large text took */
};

/* Whether the token that was read last serves in a state too, whose actions for it are `entry`. */
static bool serves(const Parser *parser, State state, const Piece *token, const ActionEntry *entry) {
    const Grammar *grammar = parser->grammar;
    LexMode mode = grammar_mode(grammar, state), read = grammar_mode(grammar, token->state);
    if (mode.state == NO_TOKEN_AHEAD) {
        return false;
    }
    if (entry->head.count && memcmp(&mode, &read, sizeof mode) == 0 &&
        (token->symbol != grammar->word || (!(token->flags & IS_KEYWORD) && token->state == state))) {
        return true;
    }
    if (token->start == token->end && token->symbol != SYMBOL_END) {
        return false;
    }
    return mode.external == 0 && entry->head.reusable;
}

const ActionEntry *actions_for(Parser *parser, State state, Symbol symbol) {
    static const ActionEntry NOTHING = {.head = {0, false}};
    if (symbol == SYMBOL_ERROR || symbol == SYMBOL_PASSED) {
        return &NOTHING;
    }
    return parser->grammar->actions + grammar_lookup(parser, state, symbol);
}

/* One token further with a version, or to its end. */
static void step(Parser *parser, uint32_t version) {
    const Grammar *grammar = parser->grammar;
    uint32_t position = parser->places[parser->heads[version].place].position, token = NONE;
    State state = parser->places[parser->heads[version].place].state;
    const ActionEntry *entry = NULL;
    bool must_read = true;
    if (parser->cached != NONE && parser->cached_at == position && parser->cached_scanned == parser->heads[version].scanned) {
        const Piece *known = &parser->pieces[parser->cached];
        entry = actions_for(parser, state, known->symbol);
        if (serves(parser, state, known, entry)) {
            token = parser->cached;
            must_read = false;
        }
    }
    while (!parser->failed) {
        if (++parser->steps > parser->most_steps) {
            parser->failed = true;
            return;
        }
        if (must_read) {
            must_read = false;
            token = token_read(parser, version, state);
            if (parser->failed) {
                return;
            }
            if (token != NONE) {
                parser->cached = token;
                parser->cached_at = position;
                parser->cached_scanned = parser->heads[version].scanned;
            }
            entry = actions_for(parser, state, token == NONE ? SYMBOL_END : parser->pieces[token].symbol);
        }
        uint32_t made = NONE, actions = entry->head.count;
        bool did_reduce = false, in_place = false;
        for (uint32_t i = 0; i < actions; i++) {
            Action action = entry[1 + i].action;
            if (action.type == SHIFT) {
                if (action.shift.repetition) {
                    continue;
                }
                if (token == NONE) {
                    parser->failed = true;
                    return;
                }
                const Piece *piece = &parser->pieces[token];
                if (action.shift.extra != ((piece->flags & IS_EXTRA) != 0)) {
                    /* Another version may take the same token for something else. */
                    if (token == parser->cached && (parser->head_count > 1 || piece->begin == piece->end)) {
                        token = piece_copy(parser, token);
                        if (token == NONE) {
                            return;
                        }
                    }
                    parser->pieces[token].flags ^= IS_EXTRA;
                }
                stack_push(parser, version, token, action.shift.extra ? state : action.shift.state);
                if (parser->pieces[token].flags & IS_EXTERNAL) {
                    parser->heads[version].scanned = parser->pieces[token].children;
                }
                return;
            }
            if (action.type == REDUCE) {
                if (actions == 1 && parser->head_count == 1 && reduce_chain(parser, action, token == NONE)) {
                    in_place = true;
                    break;
                }
                parser->floor = UINT32_MAX; /* until one version is left */
                uint32_t first = reduce(parser, version, action, token == NONE);
                did_reduce = true;
                made = first == NONE ? made : first;
                continue;
            }
            if (action.type == ACCEPT && token != NONE) {
                accept_text(parser, version, token);
            } else if (action.type == RECOVER && token != NONE) {
                recover(parser, version, token);
            } else {
                parser->failed = true;
            }
            return;
        }
        if (parser->failed) {
            return;
        }
        if (in_place || made != NONE) {
            if (!in_place) {
                stack_replace(parser, made, version);
            }
            state = parser->places[parser->heads[version].place].state;
            if (token == NONE) {
                must_read = true;
            } else {
                entry = actions_for(parser, state, parser->pieces[token].symbol);
            }
            continue;
        }
        if (did_reduce) {
            parser->heads[version].status = HALTED;
            return;
        }
        if (token == NONE) {
            parser->failed = true;
            return;
        }
        /* A keyword where none may stand is an ordinary word. */
        const Piece *piece = &parser->pieces[token];
        if (piece->flags & IS_KEYWORD && piece->symbol != grammar->word && piece->symbol != SYMBOL_ERROR &&
            !grammar_reserves(grammar, state, piece->symbol)) {
            entry = actions_for(parser, state, grammar->word);
            if (entry->head.count) {
                token = piece_copy(parser, token);
                if (token == NONE) {
                    return;
                }
                parser->pieces[token].symbol = grammar->word;
                continue;
            }
        }
        Head *head = &parser->heads[version];
        head->status = PAUSED;
        head->waiting = token;
        head->nodes_at_error = parser->mends ? parser->tolls[head->place].nodes : 0;
        return;
    }
}

/* Drops the versions that came to nothing, merges those that came to the same and puts the others in order; mends the best
   where all have come to a token that is out of place. The least cost of a version that goes on is returned. */
static uint32_t condense(Parser *parser) {
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < parser->head_count && !parser->failed; i++) {
        if (parser->heads[i].status == HALTED) {
            stack_remove(parser, i--);
            continue;
        }
        Status status = version_status(parser, i);
        if (!status.in_error && status.cost < least) {
            least = status.cost;
        }
        for (uint32_t j = 0; j < i && !parser->failed; j++) {
            int preferred = version_preference(version_status(parser, j), status);
            if (preferred == 2) {
                stack_remove(parser, i--);
                j = i;
            } else if (preferred == -2) {
                stack_remove(parser, j--);
                i--;
            } else if (stack_merge(parser, j, i)) {
                i--;
                j = i;
            } else if (preferred < 0) {
                Head swapped = parser->heads[i];
                parser->heads[i] = parser->heads[j];
                parser->heads[j] = swapped;
            }
        }
    }
    if (parser->head_count > MOST_VERSIONS) {
        parser->head_count = MOST_VERSIONS;
    }
    bool goes_on = false;
    for (uint32_t i = 0, count = parser->head_count; i < count && !parser->failed; i++) {
        if (parser->heads[i].status != PAUSED) {
            goes_on = true;
        } else if (goes_on || parser->accepted >= MOST_VERSIONS) {
            stack_remove(parser, i--);
            count--;
        } else {
            least = version_status(parser, i).cost - COST_TREE;
            if (!parser->mends) {
                parser->must_mend = parser->finished == NONE;
                return least;
            }
            mend(parser, i);
            goes_on = true;
        }
    }
    return least;
}

static void run(Parser *parser) {
    uint32_t reached = 0;
    while (!parser->failed && !parser->must_mend && parser->head_count) {
        for (uint32_t version = 0; version < parser->head_count; version++) {
            while (parser->heads[version].status == ACTIVE) {
                step(parser, version);
                if (parser->failed) {
                    return;
                }
                uint32_t position = parser->places[parser->heads[version].place].position;
                if (position > reached || (version > 0 && position == reached)) {
                    reached = position;
                    break;
                }
            }
        }
        uint32_t least = 0;
        if (parser->head_count > 1 || parser->heads[0].status != ACTIVE || parser->finished != NONE) {
            least = condense(parser);
        }
        if (parser->head_count == 1 && parser->floor == UINT32_MAX) {
            parser->floor = parser->place_count;
        }
        if (parser->finished != NONE && piece_cost(parser, parser->finished) < least) {
            return;
        }
    }
}

/* Whether the grammar's code always came back by itself. */
static bool run_or_escape(Parser *parser) {
    if (setjmp(parser->reader.escape)) {
        parser->failed = true;
        return false;
    }
    run(parser);
    return true;
}

static size_t room_of(const Parser *parser) {
    return parser->piece_room * sizeof(Piece) + parser->child_room * sizeof(uint32_t) + parser->place_room * sizeof(Place) +
           parser->link_room * sizeof(Link) + parser->cell_room * sizeof(Cell) + parser->tally_room * sizeof(Tally) +
           parser->toll_room * sizeof(Toll) + parser->flat_room * sizeof(Visible);
}

Parser *parser_new(const Grammar *grammar) {
    Parser *parser = calloc(1, sizeof *parser);
    if (parser != NULL) {
        parser->grammar = grammar;
        memset(parser->known, 0xFF, sizeof parser->known);
    }
    return parser;
}

bool parser_read(Parser *parser, const char *text, size_t size) {
    const Grammar *grammar = parser->grammar;
    if (size > UINT32_MAX / 8) {
        return false;
    }
    bool has_scanner = grammar->scanner.states != NULL && grammar->scanner.create != NULL;
    parser->mends = parser->must_mend = false;
    parser->memory = room_of(parser);
    for (;;) {
        parser->piece_count = parser->child_count = 0;
        parser->steps = parser->accepted = 0;
        parser->lines.used = 0;
        parser->most_steps = STEPS_PER_BYTE * (uint64_t)size + STEPS_ANYWAY;
        parser->most_pieces = PIECES_PER_BYTE * (uint64_t)size + PIECES_ANYWAY;
        parser->most_children = CHILDREN_PER_BYTE * (uint64_t)size + CHILDREN_ANYWAY;
        parser->failed = false;
        parser->cached = parser->finished = NONE;
        texts_free(&parser->scanned);
        reader_open(&parser->reader, text, (uint32_t)size, LOOKS_PER_BYTE * (uint64_t)size + LOOKS_ANYWAY);
        if (!stack_begin(parser) || texts_number(&parser->scanned, "", 0) != 0) {
            return false;
        }
        parser->scanner = has_scanner ? grammar->scanner.create() : NULL;
        bool came_back = run_or_escape(parser);
        if (came_back && has_scanner && grammar->scanner.destroy != NULL) {
            grammar->scanner.destroy(parser->scanner);
        }
        parser->scanner = NULL; /* one that was left is not called again: nobody knows what state it is in */
        if (!parser->must_mend || parser->failed) {
            return !parser->failed && parser->finished != NONE;
        }
        /* Most texts need no mending, and what that takes to know is not counted until one does. */
        parser->mends = true;
        parser->must_mend = false;
    }
}

static void free_rooms(Parser *parser) {
    free(parser->pieces);
    free(parser->children);
    free(parser->places);
    free(parser->links);
    free(parser->cells);
    free(parser->tallies);
    free(parser->tolls);
    parser->tallies = NULL;
    parser->tolls = NULL;
    parser->pieces = NULL;
    parser->children = NULL;
    parser->places = NULL;
    parser->links = NULL;
    parser->cells = NULL;
    parser->piece_room = parser->child_room = parser->place_room = parser->link_room = parser->cell_room = 0;
    parser->tally_room = parser->toll_room = 0;
    free(parser->flat);
    parser->flat = NULL;
    parser->flat_room = 0;
    bytes_free(&parser->frames);
}

#define MOVE(data, room)                  \
    if (to->data == NULL) {               \
        to->data = from->data;            \
        to->room = from->room;            \
        from->data = NULL;                \
        from->room = 0;                   \
    }

/* Gives what one parser has of room to another that has none. */
void parser_hand_over(Parser *from, Parser *to) {
    MOVE(pieces, piece_room)
    MOVE(children, child_room)
    MOVE(places, place_room)
    MOVE(links, link_room)
    MOVE(cells, cell_room)
    MOVE(tallies, tally_room)
    MOVE(tolls, toll_room)
    MOVE(flat, flat_room)
    MOVE(frames.data, frames.room)
}

static void free_large(Bytes *bytes) {
    if (bytes->room > KEPT_PIECES) {
        bytes_free(bytes);
    }
}

void parser_rest(Parser *parser) {
    free_large(&parser->lines);
    free_large(&parser->resorts);
    free_large(&parser->extras);
    free_large(&parser->other_extras);
    texts_free(&parser->scanned);
    if (parser->piece_room > KEPT_PIECES || parser->child_room > KEPT_PIECES || parser->place_room > KEPT_PIECES) {
        free_rooms(parser);
    }
}

void parser_free(Parser *parser) {
    free_rooms(parser);
    bytes_free(&parser->lines);
    bytes_free(&parser->resorts);
    bytes_free(&parser->extras);
    bytes_free(&parser->other_extras);
    texts_free(&parser->scanned);
    free(parser);
}

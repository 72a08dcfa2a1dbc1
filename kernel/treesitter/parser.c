/* Parses a text by a grammar's tables into the tree that tree-sitter makes, kept in a few arrays that are freed together. Where more
   than one action applies, each is followed by a version of the stack until one is left or they merge; error_recovery.c handles none.

   The method is generalized LR parsing with a graph-structured stack (Tomita 1985; Rekers 1992); which of two readings wins is
   tree-sitter's rule: the higher dynamic precedence, then the lower symbol or the fewer children where they first differ. */

#include "treesitter/parser.h"

#include <stdlib.h>

enum {
    /* Limits that no ordinary text comes near; a text that exceeds them takes tree-sitter minutes.
       Of 27,000 real files, those that took most: 65 steps a byte and 4 million in all, 2 subtrees, 2 children, 40 calls. */
    STEPS_PER_BYTE = 16,
    STEPS_ANYWAY = 8 * 1000 * 1000,
    SUBTREES_PER_BYTE = 4,
    SUBTREES_ANYWAY = 1000 * 1000,
    CHILDREN_PER_BYTE = 4,
    CHILDREN_ANYWAY = 16 * 1000 * 1000,
    CALLS_PER_BYTE = 128,
    CALLS_ANYWAY = 16 * 1000 * 1000,
    KEPT_CAPACITY = 1 << 17, /* items whose buffers are kept for the next text */
};

/* Whether the token that was lexed last can be reused in another state, whose actions for it are `entry`. */
static bool can_reuse_token(const Parser *parser, TSStateId state, const Subtree *token, const TSParseActionEntry *entry) {
    const TSLanguage *grammar = parser->grammar;
    TSLexerMode mode = language_lex_mode(grammar, state), read = language_lex_mode(grammar, token->state);
    if (mode.state == NO_LOOKAHEAD) {
        return false;
    }
    if (entry->head.count && memcmp(&mode, &read, sizeof mode) == 0 &&
        (token->symbol != grammar->keyword_capture_token || (!(token->flags & IS_KEYWORD) && token->state == state))) {
        return true;
    }
    if (token->start == token->end && token->symbol != SYMBOL_END) {
        return false;
    }
    return mode.external == 0 && entry->head.reusable;
}

/* Advances a version by one token, or to its end. */
static void advance_version(Parser *parser, uint32_t version) {
    const TSLanguage *grammar = parser->grammar;
    uint32_t position = parser->stack_nodes[parser->heads[version].node].position, token = NONE;
    TSStateId state = parser->stack_nodes[parser->heads[version].node].state;
    const TSParseActionEntry *entry = NULL;
    bool must_read = true;
    if (parser->cached_token != NONE && parser->cached_at == position && parser->cached_scanner_state == parser->heads[version].scanner_state) {
        const Subtree *known = &parser->subtrees[parser->cached_token];
        entry = language_actions(parser, state, known->symbol);
        if (can_reuse_token(parser, state, known, entry)) {
            token = parser->cached_token;
            must_read = false;
        }
    }
    while (!parser->failed) {
        if (++parser->steps > parser->max_steps) {
            parser->failed = true;
            return;
        }
        if (must_read) {
            must_read = false;
            token = lex_token(parser, version, state);
            if (parser->failed) {
                return;
            }
            if (token != NONE) {
                parser->cached_token = token;
                parser->cached_at = position;
                parser->cached_scanner_state = parser->heads[version].scanner_state;
            }
            entry = language_actions(parser, state, token == NONE ? SYMBOL_END : parser->subtrees[token].symbol);
        }
        uint32_t made = NONE, actions = entry->head.count;
        bool did_reduce = false, in_place = false;
        for (uint32_t i = 0; i < actions; i++) {
            TSParseAction action = entry[1 + i].action;
            if (action.type == SHIFT) {
                if (action.shift.repetition) {
                    continue;
                }
                if (token == NONE) {
                    parser->failed = true;
                    return;
                }
                const Subtree *subtree = &parser->subtrees[token];
                if (action.shift.extra != ((subtree->flags & IS_EXTRA) != 0)) {
                    /* Another version may use the same token in another way. */
                    if (token == parser->cached_token && (parser->head_count > 1 || subtree->begin == subtree->end)) {
                        token = subtree_copy(parser, token);
                        if (token == NONE) {
                            return;
                        }
                    }
                    parser->subtrees[token].flags ^= IS_EXTRA;
                }
                stack_push(parser, version, token, action.shift.extra ? state : action.shift.state);
                if (parser->subtrees[token].flags & IS_EXTERNAL) {
                    parser->heads[version].scanner_state = parser->subtrees[token].children;
                }
                return;
            }
            if (action.type == REDUCE) {
                if (actions == 1 && parser->head_count == 1 && reduce_single_version(parser, action, token == NONE)) {
                    in_place = true;
                    break;
                }
                parser->chain_start = UINT32_MAX; /* until one version is left */
                uint32_t first = reduce(parser, version, action, token == NONE);
                did_reduce = true;
                made = first == NONE ? made : first;
                continue;
            }
            if (action.type == ACCEPT && token != NONE) {
                accept_tree(parser, version, token);
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
            state = parser->stack_nodes[parser->heads[version].node].state;
            if (token == NONE) {
                must_read = true;
            } else {
                entry = language_actions(parser, state, parser->subtrees[token].symbol);
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
        /* A keyword that is not allowed here is an ordinary word. */
        const Subtree *subtree = &parser->subtrees[token];
        if (subtree->flags & IS_KEYWORD && subtree->symbol != grammar->keyword_capture_token && subtree->symbol != SYMBOL_ERROR &&
            !language_is_reserved_word(grammar, state, subtree->symbol)) {
            entry = language_actions(parser, state, grammar->keyword_capture_token);
            if (entry->head.count) {
                token = subtree_copy(parser, token);
                if (token == NONE) {
                    return;
                }
                parser->subtrees[token].symbol = grammar->keyword_capture_token;
                continue;
            }
        }
        StackHead *head = &parser->heads[version];
        head->status = PAUSED;
        head->lookahead_when_paused = token;
        head->node_count_at_last_error = parser->tracks_errors ? parser->stack_totals[head->node].nodes : 0;
        return;
    }
}

/* Removes halted and hopeless versions, merges equal ones, orders the others, and starts recovery of the best where all are paused.
   Returns the least error cost of a version that goes on. */
static uint32_t condense_stack(Parser *parser) {
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < parser->head_count && !parser->failed; i++) {
        if (parser->heads[i].status == HALTED) {
            stack_remove(parser, i--);
            continue;
        }
        ErrorStatus status = version_status(parser, i);
        if (!status.in_error && status.cost < least) {
            least = status.cost;
        }
        for (uint32_t j = 0; j < i && !parser->failed; j++) {
            int preferred = compare_versions(version_status(parser, j), status);
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
                StackHead swapped = parser->heads[i];
                parser->heads[i] = parser->heads[j];
                parser->heads[j] = swapped;
            }
        }
    }
    if (parser->head_count > MAX_VERSION_COUNT) {
        parser->head_count = MAX_VERSION_COUNT;
    }
    bool has_unpaused_version = false;
    for (uint32_t i = 0, count = parser->head_count; i < count && !parser->failed; i++) {
        if (parser->heads[i].status != PAUSED) {
            has_unpaused_version = true;
        } else if (has_unpaused_version || parser->accept_count >= MAX_VERSION_COUNT) {
            stack_remove(parser, i--);
            count--;
        } else {
            least = version_status(parser, i).cost - ERROR_COST_PER_SKIPPED_TREE;
            if (!parser->tracks_errors) {
                parser->needs_error_tracking = parser->finished_tree == NONE;
                return least;
            }
            handle_error(parser, i);
            has_unpaused_version = true;
        }
    }
    return least;
}

static void advance_all_versions(Parser *parser) {
    uint32_t reached = 0;
    while (!parser->failed && !parser->needs_error_tracking && parser->head_count) {
        for (uint32_t version = 0; version < parser->head_count; version++) {
            while (parser->heads[version].status == ACTIVE) {
                advance_version(parser, version);
                if (parser->failed) {
                    return;
                }
                uint32_t position = parser->stack_nodes[parser->heads[version].node].position;
                if (position > reached || (version > 0 && position == reached)) {
                    reached = position;
                    break;
                }
            }
        }
        uint32_t least = 0;
        if (parser->head_count > 1 || parser->heads[0].status != ACTIVE || parser->finished_tree != NONE) {
            least = condense_stack(parser);
        }
        if (parser->head_count == 1 && parser->chain_start == UINT32_MAX) {
            parser->chain_start = parser->stack_node_count;
        }
        if (parser->finished_tree != NONE && subtree_error_cost(parser, parser->finished_tree) < least) {
            return;
        }
    }
}

/* Whether the grammar's code always returned by itself. */
static bool advance_until_escape(Parser *parser) {
    if (setjmp(parser->lexer.escape)) {
        parser->failed = true;
        return false;
    }
    advance_all_versions(parser);
    return true;
}

static size_t buffer_bytes(const Parser *parser) {
    return parser->subtree_capacity * sizeof(Subtree) + parser->child_capacity * sizeof(uint32_t) + parser->stack_node_capacity * sizeof(StackNode) +
           parser->link_capacity * sizeof(StackLink) + parser->cell_capacity * sizeof(Cell) + parser->total_capacity * sizeof(SubtreeTotals) +
           parser->stack_total_capacity * sizeof(StackTotals) + parser->flat_capacity * sizeof(FlatNode);
}

Parser *parser_new(const TSLanguage *grammar) {
    Parser *parser = calloc(1, sizeof *parser);
    if (parser != NULL) {
        parser->grammar = grammar;
        memset(parser->lookup_cache, 0xFF, sizeof parser->lookup_cache);
    }
    return parser;
}

bool parser_parse(Parser *parser, const char *text, size_t size) {
    const TSLanguage *grammar = parser->grammar;
    if (size > UINT32_MAX / 8) {
        return false;
    }
    bool has_scanner = grammar->external_scanner.states != NULL && grammar->external_scanner.create != NULL;
    parser->tracks_errors = parser->needs_error_tracking = false;
    parser->memory = buffer_bytes(parser);
    for (;;) {
        parser->subtree_count = parser->child_count = 0;
        parser->steps = parser->accept_count = 0;
        parser->lines.used = 0;
        parser->max_steps = STEPS_PER_BYTE * (uint64_t)size + STEPS_ANYWAY;
        parser->max_subtrees = SUBTREES_PER_BYTE * (uint64_t)size + SUBTREES_ANYWAY;
        parser->max_children = CHILDREN_PER_BYTE * (uint64_t)size + CHILDREN_ANYWAY;
        parser->failed = false;
        parser->cached_token = parser->finished_tree = NONE;
        texts_free(&parser->scanner_states);
        lexer_start(&parser->lexer, text, (uint32_t)size, CALLS_PER_BYTE * (uint64_t)size + CALLS_ANYWAY);
        if (!stack_begin(parser) || texts_number(&parser->scanner_states, "", 0) != 0) {
            return false;
        }
        parser->scanner = has_scanner ? grammar->external_scanner.create() : NULL;
        bool came_back = advance_until_escape(parser);
        if (came_back && has_scanner && grammar->external_scanner.destroy != NULL) {
            grammar->external_scanner.destroy(parser->scanner);
        }
        parser->scanner = NULL; /* one that was left by a jump is in an unknown state and not called again */
        if (!parser->needs_error_tracking || parser->failed) {
            return !parser->failed && parser->finished_tree != NONE;
        }
        /* Most texts have no errors: error costs are counted only in a second pass over those that do. */
        parser->tracks_errors = true;
        parser->needs_error_tracking = false;
    }
}

static void free_buffers(Parser *parser) {
    free(parser->subtrees);
    free(parser->children);
    free(parser->stack_nodes);
    free(parser->links);
    free(parser->cells);
    free(parser->totals);
    free(parser->stack_totals);
    parser->totals = NULL;
    parser->stack_totals = NULL;
    parser->subtrees = NULL;
    parser->children = NULL;
    parser->stack_nodes = NULL;
    parser->links = NULL;
    parser->cells = NULL;
    parser->subtree_capacity = parser->child_capacity = parser->stack_node_capacity = parser->link_capacity = parser->cell_capacity = 0;
    parser->total_capacity = parser->stack_total_capacity = 0;
    free(parser->flat_nodes);
    parser->flat_nodes = NULL;
    parser->flat_capacity = 0;
    bytes_free(&parser->frames);
}

#define MOVE(data, room)                  \
    if (to->data == NULL) {               \
        to->data = from->data;            \
        to->room = from->room;            \
        from->data = NULL;                \
        from->room = 0;                   \
    }

/* Moves buffers to a parser that has none. */
void parser_move_buffers(Parser *from, Parser *to) {
    MOVE(subtrees, subtree_capacity)
    MOVE(children, child_capacity)
    MOVE(stack_nodes, stack_node_capacity)
    MOVE(links, link_capacity)
    MOVE(cells, cell_capacity)
    MOVE(totals, total_capacity)
    MOVE(stack_totals, stack_total_capacity)
    MOVE(flat_nodes, flat_capacity)
    MOVE(frames.data, frames.room)
}

static void free_large(Bytes *bytes) {
    if (bytes->room > KEPT_CAPACITY) {
        bytes_free(bytes);
    }
}

void parser_reset(Parser *parser) {
    free_large(&parser->lines);
    free_large(&parser->summaries);
    free_large(&parser->extras);
    free_large(&parser->other_extras);
    texts_free(&parser->scanner_states);
    if (parser->subtree_capacity > KEPT_CAPACITY || parser->child_capacity > KEPT_CAPACITY || parser->stack_node_capacity > KEPT_CAPACITY) {
        free_buffers(parser);
    }
}

void parser_free(Parser *parser) {
    free_buffers(parser);
    bytes_free(&parser->lines);
    bytes_free(&parser->summaries);
    bytes_free(&parser->extras);
    bytes_free(&parser->other_extras);
    texts_free(&parser->scanner_states);
    free(parser);
}

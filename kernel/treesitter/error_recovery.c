/* Error recovery by tree-sitter's rules, so that broken text gives the same tree.

   All potential reductions are done. Then a missing token is inserted, or what was read since an earlier state that accepts the
   token becomes an ERROR node, or the token itself is skipped. Each way is a version with an error cost; the cheapest is kept. */

#include "treesitter/parser.h"

#include <stdlib.h>

/* The number of newlines before a position. */
static uint32_t newlines_before(const Parser *parser, uint32_t position) {
    const uint32_t *ends = (const uint32_t *)(const void *)parser->lines.data;
    uint32_t low = 0, high = (uint32_t)(parser->lines.used / sizeof *ends);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ends[middle] < position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint32_t newlines_between(Parser *parser, uint32_t from, uint32_t to) {
    if (parser->lines.used == 0) {
        /* Asked often: found once per text. The end of the text is in the list too, so that it is never empty. */
        for (uint32_t i = 0; i <= parser->lexer.size; i++) {
            if ((i == parser->lexer.size || parser->lexer.text[i] == '\n') && bytes_append_number(&parser->lines, i) < 0) {
                parser->failed = true;
                return 0;
            }
        }
    }
    return newlines_before(parser, to) - newlines_before(parser, from);
}

ErrorStatus version_status(Parser *parser, uint32_t version) {
    const StackHead *head = &parser->heads[version];
    const StackNode *node = &parser->stack_nodes[head->node];
    ErrorStatus status = {
        parser->tracks_errors ? parser->stack_totals[head->node].cost : 0, stack_nodes_since_error(parser, version), node->dynamic_precedence,
        head->status == PAUSED || node->state == 0};
    if (head->status == PAUSED) {
        status.cost += ERROR_COST_PER_RECOVERY + ERROR_COST_PER_SKIPPED_TREE;
    } else if (node->state == 0 && node->subtree == NONE) {
        status.cost += ERROR_COST_PER_RECOVERY;
    }
    return status;
}

/* 1 prefers a, 2 drops b; -1 prefers b, -2 drops a; 0 where neither is better. */
int compare_versions(ErrorStatus a, ErrorStatus b) {
    if (a.in_error != b.in_error) {
        bool is_clear = a.in_error ? b.cost < a.cost : a.cost < b.cost;
        return (is_clear ? 2 : 1) * (a.in_error ? -1 : 1);
    }
    if (a.cost < b.cost) {
        return (uint64_t)(b.cost - a.cost) * (1 + (uint64_t)a.nodes) > MAX_COST_DIFFERENCE ? 2 : 1;
    }
    if (b.cost < a.cost) {
        return (uint64_t)(a.cost - b.cost) * (1 + (uint64_t)b.nodes) > MAX_COST_DIFFERENCE ? -2 : -1;
    }
    return (a.dynamic_precedence > b.dynamic_precedence) - (a.dynamic_precedence < b.dynamic_precedence);
}

/* Whether another version beats one with this error cost. */
static bool better_version_exists(Parser *parser, uint32_t version, uint32_t cost) {
    if (parser->finished_tree != NONE && subtree_error_cost(parser, parser->finished_tree) <= cost) {
        return true;
    }
    const StackNode *node = &parser->stack_nodes[parser->heads[version].node];
    ErrorStatus status = {cost, stack_nodes_since_error(parser, version), node->dynamic_precedence, false};
    for (uint32_t i = 0; i < parser->head_count; i++) {
        if (i == version || parser->heads[i].status != ACTIVE ||
            parser->stack_nodes[parser->heads[i].node].position < node->position) {
            continue;
        }
        int preferred = compare_versions(status, version_status(parser, i));
        if (preferred == -2 || (preferred == -1 && stack_can_merge(parser, i, version))) {
            return true;
        }
    }
    return false;
}

static uint32_t copy_version(Parser *parser, uint32_t version) {
    if (parser->head_count >= MAX_HEAD_COUNT) {
        parser->failed = true;
        return version;
    }
    StackHead copy = parser->heads[version];
    copy.summary = NONE;
    parser->heads[parser->head_count] = copy;
    return parser->head_count++;
}

enum { MAX_REDUCTION_COUNT = 256, TOKENS_PER_STEP = 4 /* table look-ups that count as one step */ };

/* Does every reduction that some lookahead allows, or the one lookahead given; whether that can be shifted afterwards. */
static bool do_all_potential_reductions(Parser *parser, uint32_t from, TSSymbol previous) {
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
        TSStateId state = parser->stack_nodes[parser->heads[version].node].state;
        TSParseAction reductions[MAX_REDUCTION_COUNT];
        uint32_t reduction_count = 0;
        bool has_shift = false;
        TSSymbol first = previous ? previous : 1, end = previous ? (TSSymbol)(previous + 1) : (TSSymbol)parser->grammar->token_count;
        parser->steps += (end - first) / TOKENS_PER_STEP;
        for (TSSymbol symbol = first; symbol < end; symbol++) {
            const TSParseActionEntry *entry = language_actions(parser, state, symbol);
            for (uint32_t i = 0; i < entry->head.count; i++) {
                TSParseAction action = entry[1 + i].action;
                if (action.type == SHIFT || action.type == RECOVER) {
                    has_shift |= !action.shift.extra && !action.shift.repetition;
                } else if (action.type == REDUCE && action.reduce.count) {
                    bool is_known = false;
                    for (uint32_t j = 0; j < reduction_count && !is_known; j++) {
                        is_known = reductions[j].reduce.symbol == action.reduce.symbol && reductions[j].reduce.count == action.reduce.count;
                    }
                    if (!is_known && reduction_count == MAX_REDUCTION_COUNT) {
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
        } else if (made != NONE && round < MAX_VERSION_COUNT) {
            stack_replace(parser, made, version);
            continue;
        } else if (previous) {
            stack_remove(parser, version);
        }
        version = version == from ? count : version + 1;
    }
    return can_follow;
}

/* Whether inserting a missing token lets a version go on with the lookahead. */
static bool insert_missing_token(Parser *parser, uint32_t version, uint32_t token) {
    TSSymbol symbol = parser->subtrees[token].symbol;
    TSStateId state = parser->stack_nodes[parser->heads[version].node].state;
    parser->steps += parser->grammar->token_count / TOKENS_PER_STEP;
    for (TSSymbol missing = 1; missing < parser->grammar->token_count && !parser->failed; missing++) {
        TSStateId after = language_next_state(parser, state, missing);
        if (after == 0 || after == state) {
            continue;
        }
        const TSParseActionEntry *entry = language_actions(parser, after, symbol);
        if (entry->head.count == 0 || entry[1].action.type != REDUCE) {
            continue;
        }
        uint32_t made = copy_version(parser, version), subtree = subtree_new(parser);
        if (parser->failed) {
            return false;
        }
        uint32_t position = parser->stack_nodes[parser->heads[version].node].position;
        parser->subtrees[subtree] = (Subtree){position, position, position, 0, 0, 0, missing, 0, 0, IS_MISSING};
        parser->totals[subtree].cost = ERROR_COST_PER_MISSING_TREE + ERROR_COST_PER_RECOVERY;
        stack_push(parser, made, subtree, after);
        if (!parser->failed && do_all_potential_reductions(parser, made, symbol)) {
            return true;
        }
    }
    return false;
}

/* Pops an ERROR subtree from the top of a version; NONE where there is none. */
static uint32_t stack_pop_error(Parser *parser, uint32_t version) {
    uint32_t node = parser->heads[version].node;
    for (uint32_t i = 0; i < parser->stack_nodes[node].links; i++) {
        StackLink link = stack_link(parser, node, i);
        if (link.subtree != NONE && parser->subtrees[link.subtree].symbol == SYMBOL_ERROR) {
            parser->heads[version].node = link.previous;
            return link.subtree;
        }
    }
    return NONE;
}

/* Pops `depth` subtrees, wraps them in an ERROR and goes on in `state`; whether a version could. */
static bool recover_to_state(Parser *parser, uint32_t version, uint32_t depth, TSStateId state) {
    stack_pop(parser, version, depth);
    uint32_t previous = NONE, count = parser->slice_count;
    StackSlice slices[MAX_ITERATOR_COUNT + 1];
    memcpy(slices, parser->slices, count * sizeof *slices);
    for (uint32_t i = 0; i < count && !parser->failed; i++) {
        StackSlice slice = slices[i];
        if (slice.version == previous) {
            continue;
        }
        if (parser->stack_nodes[parser->heads[slice.version].node].state != state) {
            parser->heads[slice.version].status = HALTED;
            continue;
        }
        uint32_t error = stack_pop_error(parser, slice.version);
        uint32_t inner = error == NONE ? 0 : parser->subtrees[error].count;
        uint32_t position = parser->stack_nodes[parser->heads[slice.version].node].position;
        if (!children_room(parser, inner)) {
            return false;
        }
        for (uint32_t j = 0; j < inner; j++) {
            parser->children[parser->child_count++] = parser->children[parser->subtrees[error].children + j];
        }
        uint32_t listed = take_children(parser, slice.cell, &parser->extras);
        /* Trailing extras of an ERROR that was there already follow the new one too. */
        if (listed == 0) {
            uint32_t kept = inner;
            while (kept && parser->subtrees[parser->children[parser->child_count - inner + kept - 1]].flags & IS_EXTRA) {
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
            uint32_t made = subtree_new_node(parser, SYMBOL_ERROR, 0, inner + listed, position);
            if (parser->failed) {
                return false;
            }
            parser->subtrees[made].flags |= IS_EXTRA;
            stack_push(parser, slice.version, made, state);
        }
        for (size_t j = 0; j < parser->extras.used && !parser->failed; j += sizeof(uint32_t)) {
            uint32_t extra;
            memcpy(&extra, parser->extras.data + j, sizeof extra);
            stack_push(parser, slice.version, extra, state);
        }
        previous = slice.version;
    }
    return previous != NONE;
}

/* Tries the states in the summary of the stack; whether the lookahead can follow one of them. */
static bool recover_to_previous_state(Parser *parser, uint32_t version, uint32_t token, uint32_t nodes, uint32_t cost) {
    StackHead head = parser->heads[version];
    TSSymbol symbol = parser->subtrees[token].symbol;
    uint32_t count = parser->head_count, position = parser->stack_nodes[head.node].position;
    if (head.summary == NONE || symbol == SYMBOL_ERROR) {
        return false;
    }
    for (uint32_t i = 0; i < head.summary_count && !parser->failed; i++) {
        StackSummaryEntry summary_entry = ((const StackSummaryEntry *)(const void *)parser->summaries.data)[head.summary + i];
        if (summary_entry.state == 0 || summary_entry.position == position) {
            continue;
        }
        bool would_merge = false;
        for (uint32_t j = 0; j < count && !would_merge; j++) {
            const StackNode *node = &parser->stack_nodes[parser->heads[j].node];
            would_merge = node->state == summary_entry.state && node->position == position;
        }
        if (would_merge) {
            continue;
        }
        uint32_t total = cost + summary_entry.depth * ERROR_COST_PER_SKIPPED_TREE + (position - summary_entry.position) +
                         newlines_between(parser, summary_entry.position, position) * ERROR_COST_PER_SKIPPED_LINE;
        if (better_version_exists(parser, version, total)) {
            return false;
        }
        if (language_lookup(parser, summary_entry.state, symbol) && recover_to_state(parser, version, summary_entry.depth + (nodes > 0), summary_entry.state)) {
            return true;
        }
    }
    return false;
}

/* A version in the error state with a lookahead that it cannot shift. */
void recover(Parser *parser, uint32_t version, uint32_t token) {
    uint32_t count = parser->head_count;
    parser->chain_start = UINT32_MAX;
    uint32_t nodes = stack_nodes_since_error(parser, version), cost = version_status(parser, version).cost;
    bool did_recover = recover_to_previous_state(parser, version, token, nodes, cost);
    for (uint32_t i = count; i < parser->head_count; i++) {
        if (parser->heads[i].status != ACTIVE) {
            stack_remove(parser, i--);
        }
    }
    if (parser->failed) {
        return;
    }
    if (parser->subtrees[token].symbol == SYMBOL_END) {
        uint32_t nothing = subtree_new_node(parser, SYMBOL_ERROR, 0, 0, parser->stack_nodes[parser->heads[version].node].position);
        if (nothing != NONE) {
            stack_push(parser, version, nothing, 1);
            accept_tree(parser, version, token);
        }
        return;
    }
    const Subtree *subtree = &parser->subtrees[token];
    cost += ERROR_COST_PER_SKIPPED_TREE + (subtree->end - subtree->begin) + ERROR_COST_PER_SKIPPED_LINE * newlines_between(parser, subtree->begin, subtree->end);
    if ((did_recover && (parser->head_count > MAX_VERSION_COUNT || subtree->flags & CHANGES_SCANNER_STATE)) || better_version_exists(parser, version, cost)) {
        parser->heads[version].status = HALTED;
        return;
    }
    const TSParseActionEntry *entry = language_actions(parser, 1, subtree->symbol);
    if (entry->head.count) {
        TSParseAction last = entry[entry->head.count].action;
        if (last.type == SHIFT && last.shift.extra && !(subtree->flags & IS_EXTRA)) {
            token = subtree_copy(parser, token);
            if (token == NONE) {
                return;
            }
            parser->subtrees[token].flags |= IS_EXTRA;
        }
    }
    uint32_t position = parser->stack_nodes[parser->heads[version].node].position;
    if (!children_room(parser, 1)) {
        return;
    }
    parser->children[parser->child_count++] = token;
    uint32_t skipped = subtree_new_node(parser, SYMBOL_ERROR_REPEAT, 0, 1, position);
    if (skipped != NONE && nodes > 0) {
        /* Consecutive skipped tokens become one ERROR_REPEAT. */
        stack_pop(parser, version, 1);
        if (parser->failed || parser->slice_count == 0) {
            parser->failed = true;
            return;
        }
        StackSlice slice = parser->slices[0];
        if (parser->slice_count > 1) {
            parser->head_count = slice.version + 1;
        }
        uint32_t listed = 0;
        for (uint32_t at = slice.cell; at != NONE && children_room(parser, 1); at = parser->cells[at].above) {
            parser->children[parser->child_count++] = parser->cells[at].subtree;
            listed++;
        }
        stack_replace(parser, slice.version, version);
        if (!children_room(parser, 1)) {
            return;
        }
        parser->children[parser->child_count++] = skipped;
        skipped = subtree_new_node(parser, SYMBOL_ERROR_REPEAT, 0, listed + 1, position);
    }
    if (skipped == NONE) {
        return;
    }
    stack_push(parser, version, skipped, 0);
    if (parser->subtrees[token].flags & IS_EXTERNAL) {
        parser->heads[version].scanner_state = parser->subtrees[token].children;
    }
}

/* Starts error recovery for a paused version. */
void handle_error(Parser *parser, uint32_t version) {
    uint32_t token = parser->heads[version].lookahead_when_paused, first = parser->head_count;
    parser->heads[version].status = ACTIVE;
    parser->heads[version].lookahead_when_paused = NONE;
    parser->chain_start = UINT32_MAX;
    do_all_potential_reductions(parser, version, 0);
    uint32_t end = parser->head_count;
    bool did_insert = false;
    for (uint32_t i = version; i < end && !parser->failed; i = i == version ? first : i + 1) {
        if (!did_insert) {
            did_insert = insert_missing_token(parser, i, token);
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

/* Subtrees, and reductions that build larger ones. */

#include "treesitter/parser.h"

uint32_t subtree_new(Parser *parser) {
    if (parser->subtree_count >= parser->max_subtrees) {
        parser->failed = true;
        return NONE;
    }
    if (!array_reserve(parser, (void **)&parser->subtrees, &parser->subtree_capacity, parser->subtree_count + 1, sizeof(Subtree))) {
        parser->failed = true;
        return NONE;
    }
    if (parser->tracks_errors) {
        if (!array_reserve(parser, (void **)&parser->totals, &parser->total_capacity, parser->subtree_count + 1, sizeof(SubtreeTotals))) {
            parser->failed = true;
            return NONE;
        }
        parser->totals[parser->subtree_count] = (SubtreeTotals){0, 0, 0};
    }
    return parser->subtree_count++;
}

uint32_t subtree_copy(Parser *parser, uint32_t number) {
    uint32_t copy = subtree_new(parser);
    if (copy != NONE) {
        parser->subtrees[copy] = parser->subtrees[number];
        if (parser->tracks_errors) {
            parser->totals[copy] = parser->totals[number];
        }
    }
    return copy;
}

/* Room for `count` more children. An ERROR that grows token by token lists all its children each time, hence the limit. */
bool children_room(Parser *parser, uint32_t count) {
    if ((uint64_t)parser->child_count + count > parser->max_children) {
        parser->failed = true;
        return false;
    }
    if (!array_reserve(parser, (void **)&parser->children, &parser->child_capacity, parser->child_count + count, sizeof(uint32_t))) {
        parser->failed = true;
        return false;
    }
    return true;
}

/* Error cost and visible nodes of a subtree, from its children. */
static SubtreeTotals sum_children(Parser *parser, const Subtree *subtree) {
    const TSLanguage *grammar = parser->grammar;
    bool is_error = subtree->symbol == SYMBOL_ERROR || subtree->symbol == SYMBOL_ERROR_REPEAT;
    const TSSymbol *aliases =
        subtree->production_id ? grammar->alias_sequences + (size_t)subtree->production_id * grammar->max_alias_sequence_length : NULL;
    SubtreeTotals total = {0, 0, 0};
    uint32_t position = 0;
    for (uint32_t i = 0; i < subtree->count; i++) {
        uint32_t number = parser->children[subtree->children + i];
        const Subtree *child = &parser->subtrees[number];
        const SubtreeTotals *inner = &parser->totals[number];
        bool is_extra = child->flags & IS_EXTRA, is_seen = is_visible(grammar, child->symbol);
        if (child->symbol != SYMBOL_ERROR_REPEAT) {
            total.cost += inner->cost;
        }
        if (is_error && !is_extra && !(child->symbol == SYMBOL_ERROR && child->count == 0)) {
            total.cost += is_seen ? ERROR_COST_PER_SKIPPED_TREE : child->count ? ERROR_COST_PER_SKIPPED_TREE * inner->visible_child_count : 0;
        }
        total.visible_descendant_count += inner->visible_descendant_count;
        if ((!is_extra && child->symbol && aliases != NULL && aliases[position]) || is_seen) {
            total.visible_descendant_count++;
            total.visible_child_count++;
        } else if (child->count) {
            total.visible_child_count += inner->visible_child_count;
        }
        position += !is_extra;
    }
    if (is_error) {
        total.cost += ERROR_COST_PER_RECOVERY + (subtree->end - subtree->start) + ERROR_COST_PER_SKIPPED_LINE * newlines_between(parser, subtree->start, subtree->end);
    }
    return total;
}

/* A subtree of the last `count` children listed; an empty one lies at `position`. */
uint32_t subtree_new_node(Parser *parser, TSSymbol symbol, uint16_t production_id, uint32_t count, uint32_t position) {
    uint32_t number = subtree_new(parser);
    if (number == NONE) {
        return NONE;
    }
    const uint32_t *children = parser->children + (parser->child_count - count);
    Subtree subtree = {position, position, position, parser->child_count - count, count, 0, symbol, production_id, 0, 0};
    if (count) {
        const Subtree *first = &parser->subtrees[children[0]];
        subtree.begin = first->begin;
        subtree.start = first->start;
        subtree.end = parser->subtrees[children[count - 1]].end;
        for (uint32_t i = 0; i < count; i++) {
            subtree.dynamic_precedence += parser->subtrees[children[i]].dynamic_precedence;
        }
    }
    parser->subtrees[number] = subtree;
    if (parser->tracks_errors) {
        parser->totals[number] = sum_children(parser, &subtree);
    }
    return number;
}

/* Lists popped subtrees as children, except trailing extras, which go to `extras`. */
uint32_t take_children(Parser *parser, uint32_t cell, Bytes *extras) {
    uint32_t count = 0, kept = 0;
    extras->used = 0;
    for (uint32_t at = cell; at != NONE; at = parser->cells[at].above) {
        count++;
        if (!(parser->subtrees[parser->cells[at].subtree].flags & IS_EXTRA)) {
            kept = count;
        }
    }
    if (!children_room(parser, kept)) {
        return 0;
    }
    uint32_t number = 0;
    for (uint32_t at = cell; at != NONE; at = parser->cells[at].above, number++) {
        uint32_t subtree = parser->cells[at].subtree;
        if (number < kept) {
            parser->children[parser->child_count++] = subtree;
        } else if (bytes_append_number(extras, subtree) < 0) {
            parser->failed = true;
        }
    }
    return kept;
}

/* Compares trees by symbol and number of children, depth first: below, equal to or above zero. */
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
        const Subtree *a = &parser->subtrees[pair[0]], *b = &parser->subtrees[pair[1]];
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

/* Whether the second of two trees for the same text is preferred. */
static bool select_other(Parser *parser, uint32_t known, uint32_t other) {
    uint32_t cost = subtree_error_cost(parser, known), other_cost = subtree_error_cost(parser, other);
    if (cost != other_cost) {
        return other_cost < cost;
    }
    int32_t a = parser->subtrees[known].dynamic_precedence, b = parser->subtrees[other].dynamic_precedence;
    return a != b ? b > a : cost > 0 || compare(parser, known, other) > 0;
}

static void push_reduced(Parser *parser, uint32_t version, uint32_t made, int16_t dynamic_precedence, bool ends_extra, const Bytes *extras) {
    TSStateId state = parser->stack_nodes[parser->heads[version].node].state;
    Subtree *subtree = &parser->subtrees[made];
    TSStateId next = language_next_state(parser, state, subtree->symbol);
    if (ends_extra && next == state) {
        subtree->flags |= IS_EXTRA;
    }
    if (subtree->count) {
        subtree->dynamic_precedence += dynamic_precedence;
    }
    stack_push(parser, version, made, next);
    for (size_t i = 0; i < extras->used && !parser->failed; i += sizeof(uint32_t)) {
        uint32_t extra;
        memcpy(&extra, extras->data + i, sizeof extra);
        stack_push(parser, version, extra, next);
    }
}

/* The common case: one version, and a stack without branches as far down as the reduction reaches. */
bool reduce_single_version(Parser *parser, TSParseAction action, bool ends_extra) {
    uint32_t node = parser->heads[0].node, wanted = action.reduce.count, count = 0;
    bool after_last = true;
    uint32_t extras = 0;
    parser->extras.used = 0;
    if (parser->chain_start == UINT32_MAX) {
        parser->chain_start = parser->stack_node_count;
    }
    for (uint32_t left = wanted; left;) {
        const StackNode *from = &parser->stack_nodes[node];
        if (from->links != 1) {
            return false;
        }
        if (!(parser->subtrees[from->subtree].flags & IS_EXTRA)) {
            left--;
            after_last = false;
        }
        if (after_last) {
            extras++;
        } else {
            count++;
        }
        node = from->previous;
    }
    if (!children_room(parser, count)) {
        return true;
    }
    uint32_t from = parser->heads[0].node;
    for (uint32_t i = 0; i < extras; i++, from = parser->stack_nodes[from].previous) {
        if (bytes_append_number(&parser->extras, parser->stack_nodes[from].subtree) < 0) {
            parser->failed = true;
            return true;
        }
    }
    /* They were found from the top down. */
    uint32_t *list = (uint32_t *)(void *)parser->extras.data;
    for (uint32_t i = 0; i < extras / 2; i++) {
        uint32_t swapped = list[i];
        list[i] = list[extras - 1 - i];
        list[extras - 1 - i] = swapped;
    }
    for (uint32_t i = count; i-- > 0; from = parser->stack_nodes[from].previous) {
        parser->children[parser->child_count + i] = parser->stack_nodes[from].subtree;
    }
    parser->child_count += count;
    uint32_t made =
        subtree_new_node(parser, action.reduce.symbol, action.reduce.production_id, count, parser->stack_nodes[node].position);
    if (made == NONE) {
        return true;
    }
    /* Nothing else links to the popped stack nodes: their memory is reused. */
    parser->stack_node_count = node + 1 > parser->chain_start ? node + 1 : parser->chain_start;
    parser->heads[0].node = node;
    push_reduced(parser, 0, made, action.reduce.dynamic_precedence, ends_extra, &parser->extras);
    return true;
}

/* Reduces on new versions; the first of these, or NONE. */
uint32_t reduce(Parser *parser, uint32_t version, TSParseAction action, bool ends_extra) {
    uint32_t previous = parser->head_count, removed = 0, halted = 0;
    stack_pop(parser, version, action.reduce.count);
    for (uint32_t i = 0; i < parser->head_count; i++) {
        halted += parser->heads[i].status == HALTED;
    }
    for (uint32_t i = 0; i < parser->slice_count && !parser->failed; i++) {
        StackSlice slice = parser->slices[i];
        uint32_t made_version = slice.version - removed;
        if (made_version > MAX_VERSION_COUNT + MAX_VERSION_COUNT_OVERFLOW + halted) {
            stack_remove(parser, made_version);
            removed++;
            while (i + 1 < parser->slice_count && parser->slices[i + 1].version == slice.version) {
                i++;
            }
            continue;
        }
        uint32_t position = parser->stack_nodes[parser->heads[made_version].node].position;
        uint32_t count = take_children(parser, slice.cell, &parser->extras);
        uint32_t made = subtree_new_node(parser, action.reduce.symbol, action.reduce.production_id, count, position);
        while (i + 1 < parser->slice_count && parser->slices[i + 1].version == slice.version && !parser->failed) {
            i++;
            count = take_children(parser, parser->slices[i].cell, &parser->other_extras);
            uint32_t other = subtree_new_node(parser, action.reduce.symbol, action.reduce.production_id, count, position);
            if (!parser->failed && select_other(parser, made, other)) {
                made = other;
                Bytes swapped = parser->extras;
                parser->extras = parser->other_extras;
                parser->other_extras = swapped;
            }
        }
        if (parser->failed) {
            break;
        }
        push_reduced(parser, made_version, made, action.reduce.dynamic_precedence, ends_extra, &parser->extras);
        for (uint32_t j = 0; j < made_version && !parser->failed; j++) {
            if (j != version && stack_merge(parser, j, made_version)) {
                removed++;
                break;
            }
        }
    }
    return parser->head_count > previous ? previous : NONE;
}

/* The end of the text: what was parsed becomes the tree, together with the extras around it. */
void accept_tree(Parser *parser, uint32_t version, uint32_t token) {
    stack_push(parser, version, token, 1);
    if (parser->failed) {
        return;
    }
    stack_pop(parser, version, NONE);
    for (uint32_t i = 0; i < parser->slice_count && !parser->failed; i++) {
        uint32_t whole = NONE, total = 0;
        for (uint32_t at = parser->slices[i].cell; at != NONE; at = parser->cells[at].above) {
            uint32_t subtree = parser->cells[at].subtree;
            whole = parser->subtrees[subtree].flags & IS_EXTRA ? whole : subtree;
            total++;
        }
        if (whole == NONE || !children_room(parser, total + parser->subtrees[whole].count)) {
            parser->failed = true;
            return;
        }
        Subtree inner = parser->subtrees[whole];
        uint32_t begin = parser->child_count;
        for (uint32_t at = parser->slices[i].cell; at != NONE; at = parser->cells[at].above) {
            if (parser->cells[at].subtree != whole) {
                parser->children[parser->child_count++] = parser->cells[at].subtree;
                continue;
            }
            for (uint32_t k = 0; k < inner.count; k++) {
                parser->children[parser->child_count++] = parser->children[inner.children + k];
            }
        }
        uint32_t root = subtree_new_node(parser, inner.symbol, inner.production_id, parser->child_count - begin, 0);
        parser->accept_count++;
        if (root != NONE && (parser->finished_tree == NONE || select_other(parser, parser->finished_tree, root))) {
            parser->finished_tree = root;
        }
    }
    if (parser->slice_count) {
        stack_remove(parser, parser->slices[0].version);
    }
    parser->heads[version].status = HALTED;
}

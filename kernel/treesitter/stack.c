/* The graph-structured stack: versions share what lies below them and merge where they agree again. */

#include "treesitter/parser.h"

#include <stdlib.h>

enum { MAX_MERGE_DEPTH = 1024, MAX_SUMMARY_DEPTH = 16 };

enum {
    MAX_MEMORY = 256 << 20, /* bytes for one text; ordinary ones of a megabyte take 50 MB */
    MAX_SUMMARY_BYTES = 32 << 20, /* on top of that */
    LARGE = 16 << 20, /* bytes from which on buffers grow by a quarter instead of doubling */
};

bool array_grow(Parser *parser, void **data, uint32_t *room, uint32_t needed, size_t size) {
    uint32_t wanted = *room ? *room : 256;
    while (wanted < needed) {
        if (wanted > UINT32_MAX / 4) {
            return false;
        }
        wanted += wanted * size < LARGE ? wanted : wanted / 4;
    }
    size_t more = (size_t)(wanted - *room) * size;
    if (parser->memory + more > MAX_MEMORY) {
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

static uint32_t stack_node_new(Parser *parser) {
    if (!array_reserve(parser, (void **)&parser->stack_nodes, &parser->stack_node_capacity, parser->stack_node_count + 1, sizeof(StackNode))) {
        parser->failed = true;
        return NONE;
    }
    if (parser->tracks_errors && !array_reserve(parser, (void **)&parser->stack_totals, &parser->stack_total_capacity, parser->stack_node_count + 1, sizeof(StackTotals))) {
        parser->failed = true;
        return NONE;
    }
    return parser->stack_node_count++;
}

/* Visible nodes in a subtree, itself included. */
static uint32_t visible_node_count(const Parser *parser, uint32_t subtree) {
    TSSymbol symbol = parser->subtrees[subtree].symbol;
    return parser->totals[subtree].visible_descendant_count + (symbol == SYMBOL_ERROR_REPEAT || is_visible(parser->grammar, symbol));
}

bool stack_begin(Parser *parser) {
    parser->stack_node_count = parser->link_count = parser->cell_count = parser->chain_start = 0;
    uint32_t base = stack_node_new(parser);
    if (base == NONE) {
        return false;
    }
    parser->stack_nodes[base] = (StackNode){0, 1, 0, 0, NONE, NONE, NONE};
    if (parser->tracks_errors) {
        parser->stack_totals[base] = (StackTotals){0, 0};
    }
    parser->chain_start = 1;
    parser->summaries.used = 0;
    parser->heads[0] = (StackHead){base, 0, ACTIVE, 0, NONE, NONE, 0};
    parser->head_count = 1;
    return true;
}

/* Without a subtree it marks a discontinuity, after which recovery starts. */
void stack_push(Parser *parser, uint32_t version, uint32_t subtree, TSStateId state) {
    uint32_t number = stack_node_new(parser);
    if (number == NONE) {
        return;
    }
    StackHead *head = &parser->heads[version];
    StackNode node = {parser->stack_nodes[head->node].position, state, 1, parser->stack_nodes[head->node].dynamic_precedence, head->node, subtree, NONE};
    if (subtree != NONE) {
        node.position = parser->subtrees[subtree].end;
        node.dynamic_precedence += parser->subtrees[subtree].dynamic_precedence;
    }
    parser->stack_nodes[number] = node;
    if (parser->tracks_errors) {
        StackTotals total = parser->stack_totals[head->node];
        if (subtree == NONE) {
            head->node_count_at_last_error = total.nodes;
        } else {
            total.cost += parser->totals[subtree].cost;
            total.nodes += visible_node_count(parser, subtree);
        }
        parser->stack_totals[number] = total;
    }
    head->node = number;
}

void stack_remove(Parser *parser, uint32_t version) {
    parser->head_count--;
    memmove(&parser->heads[version], &parser->heads[version + 1], (parser->head_count - version) * sizeof(StackHead));
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

StackLink stack_link(const Parser *parser, uint32_t node, uint32_t number) {
    const StackNode *from = &parser->stack_nodes[node];
    if (number == 0) {
        return (StackLink){from->previous, from->subtree};
    }
    return parser->links[(size_t)from->more * (MAX_LINK_COUNT - 1) + number - 1];
}

static uint32_t scanner_state_of(const Subtree *subtree) {
    return subtree->flags & IS_EXTERNAL ? subtree->children : 0;
}

/* Whether two subtrees are interchangeable as links. */
static bool subtrees_equivalent(const Parser *parser, uint32_t one, uint32_t other) {
    if (one == other) {
        return true;
    }
    if (one == NONE || other == NONE) {
        return false;
    }
    const Subtree *a = &parser->subtrees[one], *b = &parser->subtrees[other];
    if (a->symbol != b->symbol) {
        return false;
    }
    if (subtree_error_cost(parser, one) && subtree_error_cost(parser, other)) {
        return true;
    }
    return a->start - a->begin == b->start - b->begin && a->end - a->start == b->end - b->start &&
           a->count == b->count && (a->flags & IS_EXTRA) == (b->flags & IS_EXTRA) && scanner_state_of(a) == scanner_state_of(b);
}

static void set_subtree(Parser *parser, uint32_t node, uint32_t number, uint32_t subtree) {
    if (number == 0) {
        parser->stack_nodes[node].subtree = subtree;
    } else {
        parser->links[(size_t)parser->stack_nodes[node].more * (MAX_LINK_COUNT - 1) + number - 1].subtree = subtree;
    }
}

static int32_t precedence_through(const Parser *parser, StackLink link) {
    return parser->stack_nodes[link.previous].dynamic_precedence + (link.subtree == NONE ? 0 : parser->subtrees[link.subtree].dynamic_precedence);
}

static uint32_t error_cost_at(const Parser *parser, uint32_t node) {
    return parser->tracks_errors ? parser->stack_totals[node].cost : 0;
}

static void add_link(Parser *parser, uint32_t node, StackLink link, int depth) {
    if (link.previous == node) {
        return;
    }
    if (depth > MAX_MERGE_DEPTH) {
        parser->failed = true;
        return;
    }
    parser->steps++;
    int32_t through = precedence_through(parser, link);
    for (uint32_t i = 0; i < parser->stack_nodes[node].links; i++) {
        StackLink known = stack_link(parser, node, i);
        if (!subtrees_equivalent(parser, known.subtree, link.subtree)) {
            continue;
        }
        if (known.previous == link.previous) {
            /* Between the same two nodes only the preferred subtree is kept. */
            if (link.subtree != NONE && parser->subtrees[link.subtree].dynamic_precedence > parser->subtrees[known.subtree].dynamic_precedence) {
                set_subtree(parser, node, i, link.subtree);
                parser->stack_nodes[node].dynamic_precedence = through;
            }
            return;
        }
        const StackNode *a = &parser->stack_nodes[known.previous], *b = &parser->stack_nodes[link.previous];
        if (a->state == b->state && a->position == b->position && error_cost_at(parser, known.previous) == error_cost_at(parser, link.previous)) {
            for (uint32_t j = 0; j < parser->stack_nodes[link.previous].links && !parser->failed; j++) {
                add_link(parser, known.previous, stack_link(parser, link.previous, j), depth + 1);
            }
            through = precedence_through(parser, link);
            if (through > parser->stack_nodes[node].dynamic_precedence) {
                parser->stack_nodes[node].dynamic_precedence = through;
            }
            return;
        }
    }
    StackNode *into = &parser->stack_nodes[node];
    if (into->links == MAX_LINK_COUNT) {
        return;
    }
    if (into->links == 0) {
        parser->failed = true; /* nothing links to the start of a text */
        return;
    }
    if (into->links == 1) {
        if (!array_reserve(parser, (void **)&parser->links, &parser->link_capacity, parser->link_count + MAX_LINK_COUNT - 1, sizeof(StackLink))) {
            parser->failed = true;
            return;
        }
        into->more = parser->link_count / (MAX_LINK_COUNT - 1);
        parser->link_count += MAX_LINK_COUNT - 1;
    }
    parser->links[(size_t)into->more * (MAX_LINK_COUNT - 1) + into->links - 1] = link;
    into->links++;
    if (through > into->dynamic_precedence) {
        into->dynamic_precedence = through;
    }
    if (parser->tracks_errors) {
        uint32_t nodes = parser->stack_totals[link.previous].nodes + (link.subtree == NONE ? 0 : visible_node_count(parser, link.subtree));
        if (nodes > parser->stack_totals[node].nodes) {
            parser->stack_totals[node].nodes = nodes;
        }
    }
}

bool stack_can_merge(const Parser *parser, uint32_t version, uint32_t other) {
    const StackHead *a = &parser->heads[version], *b = &parser->heads[other];
    const StackNode *here = &parser->stack_nodes[a->node], *there = &parser->stack_nodes[b->node];
    return a->status == ACTIVE && b->status == ACTIVE && here->state == there->state && here->position == there->position &&
           error_cost_at(parser, a->node) == error_cost_at(parser, b->node) && a->scanner_state == b->scanner_state;
}

/* Merges the second version into the first where both are in the same state; whether it could. */
bool stack_merge(Parser *parser, uint32_t version, uint32_t other) {
    const StackHead *a = &parser->heads[version], *b = &parser->heads[other];
    if (!stack_can_merge(parser, version, other)) {
        return false;
    }
    uint32_t into = a->node, from = b->node;
    for (uint32_t i = 0; i < parser->stack_nodes[from].links && !parser->failed; i++) {
        add_link(parser, into, stack_link(parser, from, i), 0);
    }
    if (parser->tracks_errors && parser->stack_nodes[into].state == 0) {
        parser->heads[version].node_count_at_last_error = parser->stack_totals[into].nodes;
    }
    stack_remove(parser, other);
    return true;
}

static uint32_t cell_new(Parser *parser, uint32_t subtree, uint32_t above) {
    if (!array_reserve(parser, (void **)&parser->cells, &parser->cell_capacity, parser->cell_count + 1, sizeof(Cell))) {
        parser->failed = true;
        return NONE;
    }
    parser->cells[parser->cell_count] = (Cell){subtree, above};
    return parser->cell_count++;
}

/* Adds a slice of popped subtrees, on a new version or on one that another iterator made for the same node. */
static void add_slice(Parser *parser, uint32_t version, uint32_t node, uint32_t cell) {
    if (parser->slice_count >= MAX_ITERATOR_COUNT) {
        parser->failed = true;
        return;
    }
    for (uint32_t i = parser->slice_count; i-- > 0;) {
        StackSlice known = parser->slices[i];
        if (parser->heads[known.version].node == node) {
            memmove(&parser->slices[i + 2], &parser->slices[i + 1], (parser->slice_count - i - 1) * sizeof(StackSlice));
            parser->slices[i + 1] = (StackSlice){cell, known.version};
            parser->slice_count++;
            return;
        }
    }
    if (parser->head_count >= MAX_HEAD_COUNT) {
        parser->failed = true;
        return;
    }
    const StackHead *head = &parser->heads[version];
    parser->heads[parser->head_count] = (StackHead){node, head->scanner_state, ACTIVE, head->node_count_at_last_error, NONE, NONE, 0};
    parser->slices[parser->slice_count++] = (StackSlice){cell, parser->head_count++};
}

/* Moves the iterator `i` along the first link of its node, and new iterators along the others. */
static void follow_links(Parser *parser, uint32_t i, bool lists) {
    StackIterator iterator = parser->iterators[i];
    uint32_t links = parser->stack_nodes[iterator.node].links;
    for (uint32_t j = 1; j <= links; j++) {
        StackIterator *following = &parser->iterators[i];
        if (j < links) {
            if (parser->iterator_count >= MAX_ITERATOR_COUNT) {
                continue;
            }
            following = &parser->iterators[parser->iterator_count++];
        }
        StackLink link = stack_link(parser, iterator.node, j < links ? j : 0);
        parser->steps++;
        uint32_t cell = lists && link.subtree != NONE ? cell_new(parser, link.subtree, iterator.cell) : iterator.cell;
        bool counts = link.subtree == NONE || !(parser->subtrees[link.subtree].flags & IS_EXTRA);
        *following = (StackIterator){link.previous, iterator.passed_count + counts, cell};
    }
}

static void end_iterator(Parser *parser, uint32_t i) {
    parser->iterator_count--;
    memmove(&parser->iterators[i], &parser->iterators[i + 1], (parser->iterator_count - i) * sizeof(StackIterator));
}

static void begin_iterators(Parser *parser, uint32_t version) {
    parser->slice_count = parser->cell_count = 0;
    parser->iterators[0] = (StackIterator){parser->heads[version].node, 0, NONE};
    parser->iterator_count = 1;
}

/* Pops `count` subtrees that are not extras along every path; all of them with NONE. */
void stack_pop(Parser *parser, uint32_t version, uint32_t count) {
    begin_iterators(parser, version);
    while (parser->iterator_count && !parser->failed) {
        uint32_t size = parser->iterator_count;
        for (uint32_t i = 0; i < size && !parser->failed; i++) {
            StackIterator iterator = parser->iterators[i];
            uint32_t links = parser->stack_nodes[iterator.node].links;
            bool is_done = count == NONE ? links == 0 : iterator.passed_count == count;
            if (is_done) {
                add_slice(parser, version, iterator.node, iterator.cell);
            }
            if (is_done || links == 0) {
                end_iterator(parser, i--);
                size--;
                continue;
            }
            follow_links(parser, i, true);
        }
    }
}

/* Records the states below a version, to a limited depth, for recovery. */
void stack_summarize(Parser *parser, uint32_t version) {
    uint32_t first = (uint32_t)(parser->summaries.used / sizeof(StackSummaryEntry)), count = 0;
    begin_iterators(parser, version);
    while (parser->iterator_count && !parser->failed) {
        uint32_t size = parser->iterator_count;
        for (uint32_t i = 0; i < size && !parser->failed; i++) {
            StackIterator iterator = parser->iterators[i];
            const StackNode *node = &parser->stack_nodes[iterator.node];
            bool is_deep = iterator.passed_count > MAX_SUMMARY_DEPTH, is_known = is_deep;
            for (uint32_t j = count; j-- > 0 && !is_known;) {
                const StackSummaryEntry *known = (const StackSummaryEntry *)(const void *)parser->summaries.data + first + j;
                if (known->depth < iterator.passed_count) {
                    break;
                }
                is_known = known->depth == iterator.passed_count && known->state == node->state;
            }
            if (!is_known) {
                StackSummaryEntry summary_entry = {node->position, iterator.passed_count, node->state};
                if (parser->summaries.used > MAX_SUMMARY_BYTES || bytes_append(&parser->summaries, &summary_entry, sizeof summary_entry) < 0) {
                    parser->failed = true;
                    return;
                }
                count++;
            }
            if (is_deep || node->links == 0) {
                end_iterator(parser, i--);
                size--;
                continue;
            }
            follow_links(parser, i, false);
        }
    }
    parser->heads[version].summary = first;
    parser->heads[version].summary_count = count;
}

/* Whether a version has advanced since its last error. */
bool stack_has_advanced(const Parser *parser, uint32_t version) {
    const StackHead *head = &parser->heads[version];
    uint32_t node = head->node;
    if (error_cost_at(parser, node) == 0) {
        return true;
    }
    while (parser->stack_nodes[node].links && parser->stack_nodes[node].subtree != NONE) {
        uint32_t subtree = parser->stack_nodes[node].subtree;
        if (parser->subtrees[subtree].end > parser->subtrees[subtree].begin) {
            return true;
        }
        if (parser->stack_totals[node].nodes <= head->node_count_at_last_error || subtree_error_cost(parser, subtree)) {
            return false;
        }
        node = parser->stack_nodes[node].previous;
    }
    return false;
}

uint32_t stack_nodes_since_error(Parser *parser, uint32_t version) {
    StackHead *head = &parser->heads[version];
    uint32_t nodes = parser->tracks_errors ? parser->stack_totals[head->node].nodes : 0;
    if (nodes < head->node_count_at_last_error) {
        head->node_count_at_last_error = nodes;
    }
    return nodes - head->node_count_at_last_error;
}

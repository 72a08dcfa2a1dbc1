/* Subtrees, the stack, the lexer and the parser. Names are tree-sitter's where the concept is. */

#ifndef LURCHER_PARSER_H
#define LURCHER_PARSER_H

#include "treesitter/language.h"
#include "support/kernel.h"

#include <setjmp.h>

#define NONE UINT32_MAX

enum { IS_EXTRA = 1, IS_KEYWORD = 2, IS_EXTERNAL = 4, CHANGES_SCANNER_STATE = 8, IS_MISSING = 16 };

/* A token, or the result of a reduction. */
typedef struct {
    uint32_t begin; /* with the padding before it */
    uint32_t start, end;
    uint32_t children; /* where its children are listed; of a scanner's token, the number of the scanner's state */
    uint32_t count;
    int32_t dynamic_precedence;
    TSSymbol symbol;
    uint16_t production_id;
    TSStateId state; /* in which a token was read */
    uint16_t flags;
} Subtree;

/* Kept only for texts with errors: totals of a subtree, and of a stack node. */
typedef struct {
    uint32_t cost, visible_child_count, visible_descendant_count;
} SubtreeTotals;

typedef struct {
    uint32_t cost, nodes;
} StackTotals;

typedef struct {
    TSLexer data; /* first: generated code is given this part */
    const unsigned char *text;
    uint32_t size, at, width, token_start, token_end;
    uint32_t line, line_at, line_column; /* a position whose column is known, and the start of its line */
    uint64_t calls; /* callbacks of the grammar's code, and characters that these went over */
    uint64_t max_calls, max_token_calls; /* limits for the text, and for the current token */
    jmp_buf escape; /* where to go on when the grammar's code does not return */
    bool has_end, broken;
} Lexer;

/* A node of the graph-structured stack: a parse state and the links that lead there. */
typedef struct {
    uint32_t position;
    TSStateId state;
    uint16_t links;
    int32_t dynamic_precedence;
    uint32_t previous, subtree; /* the first link */
    uint32_t more; /* the list of further links */
} StackNode;

typedef struct {
    uint32_t previous, subtree;
} StackLink;

enum { MAX_LINK_COUNT = 8, MAX_VERSION_COUNT = 6, MAX_VERSION_COUNT_OVERFLOW = 4, MAX_ITERATOR_COUNT = 64, MAX_HEAD_COUNT = 128 };
enum { ACTIVE, PAUSED, HALTED };

typedef struct {
    uint32_t node;
    uint32_t scanner_state; /* the external scanner's state after its last token, as a number */
    int status;
    uint32_t node_count_at_last_error;
    uint32_t lookahead_when_paused; /* the lookahead that paused the version */
    uint32_t summary, summary_count; /* entries of the stack summary; NONE without */
} StackHead;

/* A state that recovery may return to. */
typedef struct {
    uint32_t position, depth;
    TSStateId state;
} StackSummaryEntry;

/* Popped subtrees as linked lists that share their tails. */
typedef struct {
    uint32_t subtree, above;
} Cell;

typedef struct {
    uint32_t node, passed_count, cell;
} StackIterator;

typedef struct {
    uint32_t cell, version;
} StackSlice;

/* A node of the visible tree, in document order, parents before children. */
typedef struct {
    uint32_t start, end;
    uint32_t parent;
    uint32_t after; /* the first node that is not below this one */
    uint32_t subtree;
    TSSymbol symbol;
    uint16_t field; /* in the nearest production that gives it one */
    uint8_t flags;
} FlatNode;

enum { NODE_NAMED = 1, NODE_HAS_ERROR = 2, NODE_MISSING = 4 };

enum { LOOKUP_CACHE_SLOTS = 1 << 14 };

typedef struct Parser {
    const TSLanguage *grammar;
    Lexer lexer;
    Subtree *subtrees;
    uint32_t subtree_count, subtree_capacity;
    uint32_t *children;
    uint32_t child_count, child_capacity;
    StackNode *stack_nodes;
    uint32_t stack_node_count, stack_node_capacity;
    SubtreeTotals *totals; /* of each subtree, where errors are tracked */
    StackTotals *stack_totals; /* of each stack node, where errors are tracked */
    uint32_t total_capacity, stack_total_capacity;
    Bytes summaries; /* StackSummaryEntry each */
    Bytes lines; /* uint32_t each: positions of newlines */
    uint32_t chain_start; /* stack nodes from here on are a single chain */
    StackLink *links; /* MAX_LINK_COUNT - 1 for each node that has more than one */
    uint32_t link_count, link_capacity;
    Cell *cells;
    uint32_t cell_count, cell_capacity;
    StackHead heads[MAX_HEAD_COUNT];
    uint32_t head_count;
    StackIterator iterators[MAX_ITERATOR_COUNT + 1];
    StackSlice slices[MAX_ITERATOR_COUNT + 1];
    uint32_t iterator_count, slice_count;
    Bytes extras, other_extras; /* uint32_t each: trailing extras of a reduction */
    Texts scanner_states; /* serialized states of the external scanner, the empty one first */
    void *scanner;
    uint32_t cached_token, cached_at, cached_scanner_state; /* the token lexed last */
    uint32_t finished_tree, accept_count;
    uint64_t steps, max_steps, max_subtrees, max_children;
    size_t memory; /* bytes of all buffers */
    FlatNode *flat_nodes;
    uint32_t flat_node_count, flat_capacity;
    Bytes frames; /* the stack of flatten.c */
    bool failed; /* a limit was exceeded, or memory ran out */
    bool tracks_errors, needs_error_tracking; /* whether error costs are counted; whether the text turned out to need that */
    struct {
        uint32_t key;
        uint32_t value;
    } lookup_cache[LOOKUP_CACHE_SLOTS]; /* of small_parse_table */
} Parser;

bool array_grow(Parser *parser, void **data, uint32_t *room, uint32_t needed, size_t size);

static inline bool array_reserve(Parser *parser, void **data, uint32_t *room, uint32_t needed, size_t size) {
    return needed <= *room || array_grow(parser, data, room, needed, size);
}

static inline TSLexerMode language_lex_mode(const TSLanguage *grammar, TSStateId state) {
    if (grammar->abi_version < 15) {
        const uint16_t *mode = grammar->lex_modes + (size_t)state * 2;
        return (TSLexerMode){mode[0], mode[1], 0};
    }
    const uint16_t *mode = grammar->lex_modes + (size_t)state * 3;
    return (TSLexerMode){mode[0], mode[1], mode[2]};
}

/* Why a grammar cannot be run, NULL where it can: its ABI version, or a layout that is not the one in language.h. */
const char *language_problem(const TSLanguage *grammar);
uint32_t language_lookup_small(Parser *parser, TSStateId state, TSSymbol symbol, uint32_t slot);

/* The index of a token's actions, or the next state of a non-terminal; 0 is none. Cached, since most look-ups repeat. */
static inline uint32_t language_lookup(Parser *parser, TSStateId state, TSSymbol symbol) {
    const TSLanguage *grammar = parser->grammar;
    if (state < grammar->large_state_count) {
        return grammar->parse_table[(size_t)state * grammar->symbol_count + symbol];
    }
    uint32_t key = (uint32_t)state << 16 | symbol, slot = (key * UINT32_C(0x9E3779B1)) >> 18;
    return parser->lookup_cache[slot].key == key ? parser->lookup_cache[slot].value : language_lookup_small(parser, state, symbol, slot);
}

uint32_t subtree_new(Parser *parser);
uint32_t lex_token(Parser *parser, uint32_t version, TSStateId state);
TSStateId language_next_state(Parser *parser, TSStateId state, TSSymbol symbol);
bool language_is_reserved_word(const TSLanguage *grammar, TSStateId state, TSSymbol symbol);

bool stack_begin(Parser *parser);
StackLink stack_link(const Parser *parser, uint32_t node, uint32_t number);
void stack_push(Parser *parser, uint32_t version, uint32_t subtree, TSStateId state);
void stack_remove(Parser *parser, uint32_t version);
void stack_replace(Parser *parser, uint32_t source, uint32_t target);
bool stack_can_merge(const Parser *parser, uint32_t version, uint32_t other);
bool stack_merge(Parser *parser, uint32_t version, uint32_t other);
void stack_pop(Parser *parser, uint32_t version, uint32_t count);
void stack_summarize(Parser *parser, uint32_t version);
bool stack_has_advanced(const Parser *parser, uint32_t version);
uint32_t stack_nodes_since_error(Parser *parser, uint32_t version);

/* Error costs, as tree-sitter's. */
enum { ERROR_COST_PER_RECOVERY = 500, ERROR_COST_PER_MISSING_TREE = 110, ERROR_COST_PER_SKIPPED_TREE = 100, ERROR_COST_PER_SKIPPED_LINE = 30, MAX_COST_DIFFERENCE = 18 * ERROR_COST_PER_SKIPPED_TREE };

typedef struct {
    uint32_t cost, nodes;
    int32_t dynamic_precedence;
    bool in_error;
} ErrorStatus;

uint32_t newlines_between(Parser *parser, uint32_t from, uint32_t to);
ErrorStatus version_status(Parser *parser, uint32_t version);
int compare_versions(ErrorStatus a, ErrorStatus b);
void handle_error(Parser *parser, uint32_t version);
void recover(Parser *parser, uint32_t version, uint32_t token);

uint32_t subtree_copy(Parser *parser, uint32_t number);
bool children_room(Parser *parser, uint32_t count);
uint32_t subtree_new_node(Parser *parser, TSSymbol symbol, uint16_t production_id, uint32_t count, uint32_t position);
uint32_t take_children(Parser *parser, uint32_t cell, Bytes *extras);
const TSParseActionEntry *language_actions(Parser *parser, TSStateId state, TSSymbol symbol);
uint32_t reduce(Parser *parser, uint32_t version, TSParseAction action, bool ends_extra);
bool reduce_single_version(Parser *parser, TSParseAction action, bool ends_extra);
void accept_tree(Parser *parser, uint32_t version, uint32_t token);

static inline uint32_t subtree_error_cost(const Parser *parser, uint32_t subtree) {
    return parser->tracks_errors ? parser->totals[subtree].cost : 0;
}

/* The caller sets `escape`. */
void lexer_start(Lexer *lexer, const char *text, uint32_t size, uint64_t max_calls);

/* A parser for any number of texts; NULL without memory. */
Parser *parser_new(const TSLanguage *grammar);
/* Whether the text was parsed within the limits; the tree is `finished_tree`. */
bool parser_parse(Parser *parser, const char *text, size_t size);
/* Frees buffers that only a large text needs. */
void parser_reset(Parser *parser);
void parser_move_buffers(Parser *from, Parser *to);
void parser_free(Parser *parser);

/* Fills `flat_nodes` with the visible tree: how many nodes, or NONE without memory. */
uint32_t parser_flatten(Parser *parser);
/* A node's first child with a field, inherited fields included; NONE without. */
uint32_t parser_child_by_field(Parser *parser, uint32_t node, uint16_t field);

#endif

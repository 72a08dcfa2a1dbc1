/* What the files of the parser share: pieces of a syntax tree, the places of the stack, the reading of tokens. */

#ifndef LURCHER_PARSER_H
#define LURCHER_PARSER_H

#include "treesitter/grammar.h"
#include "support/kernel.h"

#include <setjmp.h>

#define NONE UINT32_MAX

enum { IS_EXTRA = 1, IS_KEYWORD = 2, IS_EXTERNAL = 4, IS_CHANGING = 8, IS_MISSING = 16 };

/* A token, or what a production made of others. */
typedef struct {
    uint32_t begin; /* with the white space before it */
    uint32_t start, end;
    uint32_t children; /* where its children are listed; of a scanner's token, the number of the scanner's state */
    uint32_t count;
    int32_t precedence;
    Symbol symbol;
    uint16_t production;
    State state; /* in which a token was read */
    uint16_t flags;
} Piece;

/* What only a text that has to be mended needs to know of a piece, and of a place. */
typedef struct {
    uint32_t cost, visible, below; /* of mending; visible children, and all visible pieces in it */
} Tally;

typedef struct {
    uint32_t cost, nodes;
} Toll;

/* A text read through a grammar's eyes. */
typedef struct {
    View view; /* first: generated code is given this part */
    const unsigned char *text;
    uint32_t size, at, width, token_start, token_end;
    uint32_t line, line_at, line_column; /* a place whose column is known, and the begin of its line */
    uint64_t looks; /* calls of the grammar's code for characters, all in all, and characters that these took */
    uint64_t most_looks, token_looks; /* how many the text may take, and how many have been taken when a token is given up */
    jmp_buf escape; /* where to go on when the grammar's code does not come back by itself */
    bool has_end, broken;
} Reader;

/* Where a reading of the text has come to: a state, and what led there. */
typedef struct {
    uint32_t position;
    State state;
    uint16_t links;
    int32_t precedence;
    uint32_t before, piece; /* the first link */
    uint32_t more; /* the list of further links */
} Place;

typedef struct {
    uint32_t before, piece;
} Link;

enum { MOST_LINKS = 8, MOST_VERSIONS = 6, VERSIONS_OVER = 4, MOST_PATHS = 64, MOST_HEADS = 128 };
enum { ACTIVE, PAUSED, HALTED };

typedef struct {
    uint32_t place;
    uint32_t scanned; /* number of the scanner's state after the last of its tokens */
    int status;
    uint32_t nodes_at_error;
    uint32_t waiting; /* the token with which a version could not go on */
    uint32_t summary, summary_count; /* what lay below when mending began; NONE without */
} Head;

/* A place at which mending may go on. */
typedef struct {
    uint32_t position, depth;
    State state;
} Resort;

/* Steps down from a head: lists that share what they have in common, the lowest piece first. */
typedef struct {
    uint32_t piece, above;
} Cell;

typedef struct {
    uint32_t place, counted, cell;
} Path;

typedef struct {
    uint32_t cell, version;
} Cut;

/* A node of the tree as everybody sees it; nodes come in the order in which they begin, those around others before them. */
typedef struct {
    uint32_t start, end;
    uint32_t parent;
    uint32_t after; /* the first node that is not below this one */
    uint32_t piece;
    Symbol symbol;
    uint16_t field; /* its role in the nearest production that gives it one */
    uint8_t flags;
} Visible;

enum { NODE_NAMED = 1, NODE_BROKEN = 2, NODE_MISSING = 4 };

enum { MEMORY_SLOTS = 1 << 14 };

typedef struct Parser {
    const Grammar *grammar;
    Reader reader;
    Piece *pieces;
    uint32_t piece_count, piece_room;
    uint32_t *children;
    uint32_t child_count, child_room;
    Place *places;
    uint32_t place_count, place_room;
    Tally *tallies; /* of each piece, and */
    Toll *tolls; /* of each place, while something is mended */
    uint32_t tally_room, toll_room;
    Bytes resorts; /* Resort each */
    Bytes lines; /* uint32_t each: where they end */
    uint32_t floor; /* places below may be linked from anywhere, those above are one chain */
    Link *links; /* MOST_LINKS - 1 for each place that has more than one */
    uint32_t link_count, link_room;
    Cell *cells;
    uint32_t cell_count, cell_room;
    Head heads[MOST_HEADS];
    uint32_t head_count;
    Path paths[MOST_PATHS + 1];
    Cut cuts[MOST_PATHS + 1];
    uint32_t path_count, cut_count;
    Bytes extras, other_extras; /* uint32_t each: pieces after the last child of what is made */
    Texts scanned; /* states of the scanner, the empty one first */
    void *scanner;
    uint32_t cached, cached_at, cached_scanned; /* the token read last */
    uint32_t finished, accepted;
    uint64_t steps, most_steps, most_pieces, most_children;
    size_t memory; /* bytes of all that grows with the text */
    Visible *flat;
    uint32_t flat_count, flat_room;
    Bytes frames; /* what is being flattened */
    bool failed; /* beyond us, or more work than any real text is */
    bool mends, must_mend; /* whether costs are counted; whether they have to be */
    struct {
        uint32_t key;
        uint32_t value;
    } known[MEMORY_SLOTS]; /* what was looked up in the tables of states */
} Parser;

bool room_make(Parser *parser, void **data, uint32_t *room, uint32_t needed, size_t size);

static inline bool room_for(Parser *parser, void **data, uint32_t *room, uint32_t needed, size_t size) {
    return needed <= *room || room_make(parser, data, room, needed, size);
}

static inline LexMode grammar_mode(const Grammar *grammar, State state) {
    if (grammar->layout < 15) {
        const uint16_t *mode = grammar->lex_modes + (size_t)state * 2;
        return (LexMode){mode[0], mode[1], 0};
    }
    const uint16_t *mode = grammar->lex_modes + (size_t)state * 3;
    return (LexMode){mode[0], mode[1], mode[2]};
}

uint32_t grammar_search(Parser *parser, State state, Symbol symbol, uint32_t slot);

/* For a token where its actions are, for others the state they lead to; 0 is none. Most questions are asked again and again. */
static inline uint32_t grammar_lookup(Parser *parser, State state, Symbol symbol) {
    const Grammar *grammar = parser->grammar;
    if (state < grammar->large_states) {
        return grammar->large_table[(size_t)state * grammar->symbols + symbol];
    }
    uint32_t key = (uint32_t)state << 16 | symbol, slot = (key * UINT32_C(0x9E3779B1)) >> 18;
    return parser->known[slot].key == key ? parser->known[slot].value : grammar_search(parser, state, symbol, slot);
}

uint32_t piece_new(Parser *parser);
uint32_t token_read(Parser *parser, uint32_t version, State state);
State grammar_next(Parser *parser, State state, Symbol symbol);
bool grammar_reserves(const Grammar *grammar, State state, Symbol symbol);

bool stack_begin(Parser *parser);
Link stack_link(const Parser *parser, uint32_t place, uint32_t number);
void stack_push(Parser *parser, uint32_t version, uint32_t piece, State state);
void stack_remove(Parser *parser, uint32_t version);
void stack_replace(Parser *parser, uint32_t source, uint32_t target);
bool stack_can_merge(const Parser *parser, uint32_t version, uint32_t other);
bool stack_merge(Parser *parser, uint32_t version, uint32_t other);
void stack_pop(Parser *parser, uint32_t version, uint32_t count);
void stack_summarize(Parser *parser, uint32_t version);
bool stack_has_advanced(const Parser *parser, uint32_t version);
uint32_t stack_nodes_since_error(Parser *parser, uint32_t version);

/* What it takes to read on where a token is out of place. */
enum { COST_RECOVERY = 500, COST_MISSING = 110, COST_TREE = 100, COST_LINE = 30, MOST_DIFFERENCE = 18 * COST_TREE };

typedef struct {
    uint32_t cost, nodes;
    int32_t precedence;
    bool in_error;
} Status;

uint32_t lines_between(Parser *parser, uint32_t from, uint32_t to);
Status version_status(Parser *parser, uint32_t version);
int version_preference(Status a, Status b);
void mend(Parser *parser, uint32_t version);
void recover(Parser *parser, uint32_t version, uint32_t token);

uint32_t piece_copy(Parser *parser, uint32_t number);
bool children_room(Parser *parser, uint32_t count);
uint32_t piece_made(Parser *parser, Symbol symbol, uint16_t production, uint32_t count, uint32_t position);
uint32_t list_children(Parser *parser, uint32_t cell, Bytes *extras);
const ActionEntry *actions_for(Parser *parser, State state, Symbol symbol);
uint32_t reduce(Parser *parser, uint32_t version, Action action, bool ends_extra);
bool reduce_chain(Parser *parser, Action action, bool ends_extra);
void accept_text(Parser *parser, uint32_t version, uint32_t token);

static inline uint32_t piece_cost(const Parser *parser, uint32_t piece) {
    return parser->mends ? parser->tallies[piece].cost : 0;
}


/* Whoever reads sets `escape` first. */
void reader_open(Reader *reader, const char *text, uint32_t size, uint64_t most_looks);

/* A parser for any number of texts, or NULL without memory. */
Parser *parser_new(const Grammar *grammar);
/* Whether the text could be read, within limits of time and memory; the tree is the piece `finished`. */
bool parser_read(Parser *parser, const char *text, size_t size);
/* Gives back what only a large text needs. */
void parser_rest(Parser *parser);
void parser_hand_over(Parser *from, Parser *to);
void parser_free(Parser *parser);

/* The visible nodes of the tree that was read, in `flat`: how many, or NONE without memory. */
uint32_t parser_flatten(Parser *parser);
/* The first node in a visible one that has a role, by the productions around it: as tree-sitter looks for it. NONE without. */
uint32_t parser_child_by_field(Parser *parser, uint32_t node, uint16_t field);

#endif

/* How a grammar's package lays out its tables: the interface between tree-sitter's generated parsers and whoever runs them,
   versions 14 and 15. Names are our own; order and sizes are what the generator writes. */

#ifndef LURCHER_GRAMMAR_H
#define LURCHER_GRAMMAR_H

#include <stdbool.h>
#include <stdint.h>

typedef uint16_t Symbol;
typedef uint16_t State;

enum { OLDEST_LAYOUT = 14, NEWEST_LAYOUT = 15 };
enum { SHIFT, REDUCE, ACCEPT, RECOVER };

#define SYMBOL_END ((Symbol)0)
#define SYMBOL_ERROR UINT16_MAX /* of what had to be passed over */
#define SYMBOL_PASSED (UINT16_MAX - 1) /* the same, as long as more may follow */
#define NO_TOKEN_AHEAD UINT16_MAX /* the lexer's state after the end of an extra that is more than a token */
#define SCANNER_STATE 1024 /* bytes that a scanner may write of its state */

typedef struct {
    uint16_t field;
    uint8_t child;
    bool inherited; /* in a hidden child, by its own production */
} FieldEntry;

typedef struct {
    uint16_t first, count;
} Slice;

typedef struct {
    bool visible, named, supertype;
} SymbolKind;

/* What a generated lexer sees of the text. */
typedef struct View View;
struct View {
    int32_t ahead;
    Symbol found;
    void (*advance)(View *, bool is_space);
    void (*mark_end)(View *);
    uint32_t (*column)(View *);
    bool (*begins_range)(const View *);
    bool (*is_end)(const View *);
    void (*log)(const View *, const char *, ...);
};

typedef union {
    struct {
        uint8_t type;
        State state;
        bool extra, repetition;
    } shift;
    struct {
        uint8_t type, count;
        Symbol symbol;
        int16_t precedence;
        uint16_t production;
    } reduce;
    uint8_t type;
} Action;

/* A head says how many actions follow it. */
typedef union {
    Action action;
    struct {
        uint8_t count;
        bool reusable;
    } head;
} ActionEntry;

typedef struct {
    uint16_t state, external, reserved;
} LexMode;

typedef struct {
    uint32_t layout, symbols, aliases, tokens, external_tokens, states, large_states, productions, fields;
    uint16_t longest_production;
    const uint16_t *large_table;
    const uint16_t *small_table;
    const uint32_t *small_places;
    const ActionEntry *actions;
    const char *const *symbol_names;
    const char *const *field_names;
    const Slice *field_slices;
    const FieldEntry *field_entries;
    const SymbolKind *kinds;
    const Symbol *public_symbols;
    const uint16_t *alias_map;
    const Symbol *alias_sequences;
    const uint16_t *lex_modes; /* two numbers a state in layout 14, three in 15 */
    bool (*lex)(View *, State);
    bool (*lex_keyword)(View *, State);
    Symbol word;
    struct {
        const bool *states;
        const Symbol *symbols;
        void *(*create)(void);
        void (*destroy)(void *);
        bool (*scan)(void *, View *, const bool *valid);
        unsigned (*serialize)(void *, char *);
        void (*deserialize)(void *, const char *, unsigned);
    } scanner;
    const State *primary_states;
    /* From here on in layout 15 only. */
    const char *name;
    const Symbol *reserved_words;
    uint16_t longest_reserved;
} Grammar;

/* Whether nodes of a type are seen. */
static inline bool is_visible(const Grammar *grammar, Symbol symbol) {
    return symbol == SYMBOL_ERROR || (symbol != SYMBOL_PASSED && grammar->kinds[symbol].visible);
}

#endif

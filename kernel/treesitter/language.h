/* The tables of a grammar package: the interface between parsers that tree-sitter generates and the runtime, ABI 14 and 15.
   Order and sizes of the fields are what the generator writes; language.c checks them when a grammar is loaded. */

#ifndef LURCHER_LANGUAGE_H
#define LURCHER_LANGUAGE_H

#include <stdbool.h>
#include <stdint.h>

typedef uint16_t TSSymbol;
typedef uint16_t TSStateId;

enum { MIN_ABI_VERSION = 14, MAX_ABI_VERSION = 15 };
enum { SHIFT, REDUCE, ACCEPT, RECOVER };

#define SYMBOL_END ((TSSymbol)0)
#define SYMBOL_ERROR UINT16_MAX /* ERROR nodes */
#define SYMBOL_ERROR_REPEAT (UINT16_MAX - 1) /* an ERROR that is still growing */
#define NO_LOOKAHEAD UINT16_MAX /* lex state after the end of a non-terminal extra */
#define SERIALIZATION_BUFFER_SIZE 1024 /* bytes of an external scanner's state */

typedef struct {
    uint16_t field;
    uint8_t child;
    bool inherited; /* the field is on a child of a hidden child */
} TSFieldMapEntry;

typedef struct {
    uint16_t first, count;
} TSMapSlice;

typedef struct {
    bool visible, named, supertype;
} TSSymbolMetadata;

/* What generated lexers and scanners call. */
typedef struct TSLexer TSLexer;
struct TSLexer {
    int32_t lookahead;
    TSSymbol result_symbol;
    void (*advance)(TSLexer *, bool is_space);
    void (*mark_end)(TSLexer *);
    uint32_t (*get_column)(TSLexer *);
    bool (*is_at_included_range_start)(const TSLexer *);
    bool (*eof)(const TSLexer *);
    void (*log)(const TSLexer *, const char *, ...);
};

typedef union {
    struct {
        uint8_t type;
        TSStateId state;
        bool extra, repetition;
    } shift;
    struct {
        uint8_t type, count;
        TSSymbol symbol;
        int16_t dynamic_precedence;
        uint16_t production_id;
    } reduce;
    uint8_t type;
} TSParseAction;

/* A head with the number of actions, or an action. */
typedef union {
    TSParseAction action;
    struct {
        uint8_t count;
        bool reusable;
    } head;
} TSParseActionEntry;

typedef struct {
    uint16_t state, external, reserved;
} TSLexerMode;

typedef struct {
    uint32_t abi_version, symbol_count, alias_count, token_count, external_token_count, state_count, large_state_count;
    uint32_t production_id_count, field_count;
    uint16_t max_alias_sequence_length;
    const uint16_t *parse_table;
    const uint16_t *small_parse_table;
    const uint32_t *small_parse_table_map;
    const TSParseActionEntry *parse_actions;
    const char *const *symbol_names;
    const char *const *field_names;
    const TSMapSlice *field_map_slices;
    const TSFieldMapEntry *field_map_entries;
    const TSSymbolMetadata *symbol_metadata;
    const TSSymbol *public_symbol_map;
    const uint16_t *alias_map;
    const TSSymbol *alias_sequences;
    const uint16_t *lex_modes; /* two numbers per state in ABI 14, three in ABI 15 */
    bool (*lex_fn)(TSLexer *, TSStateId);
    bool (*keyword_lex_fn)(TSLexer *, TSStateId);
    TSSymbol keyword_capture_token;
    struct {
        const bool *states;
        const TSSymbol *symbol_map;
        void *(*create)(void);
        void (*destroy)(void *);
        bool (*scan)(void *, TSLexer *, const bool *valid);
        unsigned (*serialize)(void *, char *);
        void (*deserialize)(void *, const char *, unsigned);
    } external_scanner;
    const TSStateId *primary_state_ids;
    /* From here on in ABI 15 only. */
    const char *name;
    const TSSymbol *reserved_words;
    uint16_t max_reserved_word_set_size;
} TSLanguage;

static inline bool is_visible(const TSLanguage *grammar, TSSymbol symbol) {
    return symbol == SYMBOL_ERROR || (symbol != SYMBOL_ERROR_REPEAT && grammar->symbol_metadata[symbol].visible);
}

#endif

/* A grammar's tables: checked when a grammar is loaded, and looked up while parsing. */

#include "treesitter/parser.h"

#include <stddef.h>

/* What the generator lays out; a compiler that packs these otherwise cannot run grammars. */
_Static_assert(sizeof(TSParseActionEntry) == 8 && offsetof(TSParseAction, shift.state) == 2, "TSParseAction");
_Static_assert(sizeof(TSFieldMapEntry) == 4 && sizeof(TSMapSlice) == 4 && sizeof(TSSymbolMetadata) == 3, "TSFieldMapEntry");
_Static_assert(offsetof(TSLanguage, max_alias_sequence_length) == 36 && offsetof(TSLanguage, parse_table) == 40, "TSLanguage");

enum { MAX_SYMBOL_COUNT = UINT16_MAX - 1, MAX_ACTION_COUNT = 64 };

/* Whether the actions at an index of parse_actions lead to states, symbols and productions that exist. */
static bool are_actions_valid(const TSLanguage *grammar, uint32_t index) {
    const TSParseActionEntry *entry = grammar->parse_actions + index;
    if (entry->head.count > MAX_ACTION_COUNT) {
        return false;
    }
    for (uint32_t i = 1; i <= entry->head.count; i++) {
        TSParseAction action = entry[i].action;
        if (action.type > RECOVER || (action.type == SHIFT && action.shift.state >= grammar->state_count) ||
            (action.type == REDUCE && (action.reduce.symbol < grammar->token_count || action.reduce.symbol >= grammar->symbol_count ||
                                       action.reduce.production_id >= grammar->production_id_count))) {
            return false;
        }
    }
    return true;
}

/* Why a grammar cannot be run; NULL where it can. Pointers are followed only after the counts before them made sense: in another
   layout they would be something else. The row of the first parse state stands for all of the table. */
const char *language_problem(const TSLanguage *grammar) {
    if (grammar->abi_version < MIN_ABI_VERSION || grammar->abi_version > MAX_ABI_VERSION) {
        return "the ABI version of the grammar is not 14 or 15";
    }
    const uint32_t symbols = grammar->symbol_count, total = symbols + grammar->alias_count;
    if (symbols == 0 || total > MAX_SYMBOL_COUNT || grammar->token_count == 0 || grammar->token_count > symbols ||
        grammar->external_token_count > grammar->token_count || grammar->state_count < 2 || grammar->state_count > UINT16_MAX ||
        grammar->large_state_count < 2 || grammar->large_state_count > grammar->state_count || grammar->production_id_count == 0 ||
        grammar->production_id_count > UINT16_MAX || grammar->field_count > UINT16_MAX) {
        return "the counts in the grammar make no sense";
    }
    if (grammar->parse_table == NULL || grammar->parse_actions == NULL || grammar->symbol_names == NULL ||
        grammar->symbol_metadata == NULL || grammar->public_symbol_map == NULL || grammar->lex_modes == NULL || grammar->lex_fn == NULL ||
        (grammar->large_state_count < grammar->state_count && (grammar->small_parse_table == NULL || grammar->small_parse_table_map == NULL)) ||
        (grammar->field_count && (grammar->field_names == NULL || grammar->field_map_slices == NULL || grammar->field_map_entries == NULL)) ||
        (grammar->keyword_capture_token && grammar->keyword_lex_fn == NULL) || grammar->keyword_capture_token >= grammar->token_count ||
        (grammar->external_token_count && (grammar->external_scanner.states == NULL || grammar->external_scanner.symbol_map == NULL)) ||
        (grammar->external_scanner.create != NULL && (grammar->external_scanner.scan == NULL || grammar->external_scanner.serialize == NULL ||
                                                      grammar->external_scanner.deserialize == NULL)) ||
        (grammar->abi_version >= 15 && (grammar->name == NULL || (grammar->max_reserved_word_set_size && grammar->reserved_words == NULL)))) {
        return "a table of the grammar is missing";
    }
    const TSSymbolMetadata end = grammar->symbol_metadata[SYMBOL_END];
    if (grammar->symbol_names[SYMBOL_END] == NULL || strcmp(grammar->symbol_names[SYMBOL_END], "end") != 0 || end.visible || !end.named || grammar->parse_actions[0].head.count) {
        return "the first symbol of the grammar is not the end of the text";
    }
    for (uint32_t i = 0; i < total; i++) {
        if (grammar->symbol_names[i] == NULL || grammar->public_symbol_map[i] >= total) {
            return "a symbol of the grammar has no name";
        }
    }
    const uint16_t *row = grammar->parse_table + symbols; /* of state 1, in which every text starts */
    for (uint32_t i = 0; i < symbols; i++) {
        if (i < grammar->token_count ? !are_actions_valid(grammar, row[i]) : row[i] >= grammar->state_count) {
            return "the parse table of the grammar leads nowhere";
        }
    }
    return NULL;
}

const TSParseActionEntry *language_actions(Parser *parser, TSStateId state, TSSymbol symbol) {
    static const TSParseActionEntry NOTHING = {.head = {0, false}};
    if (symbol == SYMBOL_ERROR || symbol == SYMBOL_ERROR_REPEAT) {
        return &NOTHING;
    }
    return parser->grammar->parse_actions + language_lookup(parser, state, symbol);
}

bool language_is_reserved_word(const TSLanguage *grammar, TSStateId state, TSSymbol symbol) {
    uint32_t set = language_lex_mode(grammar, state).reserved;
    if (set == 0) {
        return false;
    }
    const TSSymbol *words = grammar->reserved_words + (size_t)set * grammar->max_reserved_word_set_size;
    for (uint32_t i = 0; i < grammar->max_reserved_word_set_size && words[i]; i++) {
        if (words[i] == symbol) {
            return true;
        }
    }
    return false;
}

/* States with few symbols list them in groups of one value. */
uint32_t language_lookup_small(Parser *parser, TSStateId state, TSSymbol symbol, uint32_t slot) {
    const TSLanguage *grammar = parser->grammar;
    const uint16_t *data = grammar->small_parse_table + grammar->small_parse_table_map[state - grammar->large_state_count];
    uint32_t value = 0;
    for (uint32_t groups = *data++; groups && !value; groups--) {
        uint16_t result = data[0], count = data[1];
        data += 2;
        for (uint32_t i = 0; i < count; i++) {
            if (data[i] == symbol) {
                value = result;
                break;
            }
        }
        data += count;
    }
    parser->lookup_cache[slot].key = (uint32_t)state << 16 | symbol;
    parser->lookup_cache[slot].value = value;
    return value;
}

TSStateId language_next_state(Parser *parser, TSStateId state, TSSymbol symbol) {
    if (symbol == SYMBOL_ERROR || symbol == SYMBOL_ERROR_REPEAT) {
        return 0;
    }
    uint32_t found = language_lookup(parser, state, symbol);
    if (symbol >= parser->grammar->token_count) {
        return (TSStateId)found;
    }
    const TSParseActionEntry *entry = parser->grammar->parse_actions + found;
    if (entry->head.count) {
        TSParseAction last = entry[entry->head.count].action;
        if (last.type == SHIFT) {
            return last.shift.extra ? state : last.shift.state;
        }
    }
    return 0;
}

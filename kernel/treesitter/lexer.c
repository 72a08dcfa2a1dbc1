/* Tokens, by a grammar's generated lexer and its external scanner. */

#include "treesitter/parser.h"

#include <stdlib.h>

/* Decodes the character at the current position. Text that is not UTF-8 makes the parse fail. */
static inline void read_lookahead(Lexer *lexer) {
    if (lexer->at >= lexer->size) {
        lexer->data.lookahead = 0;
        lexer->width = 1;
        return;
    }
    const unsigned char *at = lexer->text + lexer->at;
    uint32_t left = lexer->size - lexer->at, first = at[0];
    if (first < 0x80) {
        lexer->data.lookahead = (int32_t)first;
        lexer->width = 1;
        return;
    }
    uint32_t width = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2, point = first & (0xFFu >> (width + 1));
    bool broken = first < 0xC2 || first > 0xF4 || width > left;
    for (uint32_t i = 1; !broken && i < width; i++) {
        broken = (at[i] & 0xC0) != 0x80;
        point = point << 6 | (at[i] & 0x3F);
    }
    if (broken || (width == 3 && (point < 0x800 || (point >= 0xD800 && point < 0xE000))) ||
        (width == 4 && (point < 0x10000 || point > 0x10FFFF))) {
        lexer->broken = true;
        lexer->data.lookahead = -1;
        lexer->width = 1;
        return;
    }
    lexer->data.lookahead = (int32_t)point;
    lexer->width = width;
}

/* Counts callbacks. A scanner that never returns, as some do at the end of a text, is left by a jump; memory it holds is lost. */
static inline void count_calls(Lexer *lexer, uint64_t count) {
    lexer->calls += count;
    if (lexer->calls > lexer->max_token_calls) {
        longjmp(lexer->escape, 1);
    }
}

static void advance(TSLexer *view, bool is_space) {
    Lexer *lexer = (Lexer *)(void *)view;
    count_calls(lexer, 1);
    if (lexer->at >= lexer->size) {
        return;
    }
    lexer->at += lexer->width;
    if (is_space) {
        lexer->token_start = lexer->at;
    }
    read_lookahead(lexer);
}

static void mark_end(TSLexer *view) {
    Lexer *lexer = (Lexer *)(void *)view;
    count_calls(lexer, 1);
    lexer->token_end = lexer->at;
    lexer->has_end = true;
}

/* Characters since the start of the line, without a byte order mark. */
static uint32_t column(TSLexer *view) {
    Lexer *lexer = (Lexer *)(void *)view;
    uint32_t at = lexer->at, from = lexer->line_at, count = lexer->line_column;
    if (at < from) {
        from = lexer->line;
        count = 0;
        while (at < from) {
            /* An earlier line: search its start backwards. */
            from = at;
            while (from > 0 && lexer->text[from - 1] != '\n') {
                from--;
            }
        }
        lexer->line = from;
        count_calls(lexer, at - from);
    }
    count_calls(lexer, at - from + 1);
    for (uint32_t i = from; i < at; i++) {
        unsigned char byte = lexer->text[i];
        if (byte == '\n') {
            count = 0;
            lexer->line = i + 1;
        } else if ((byte & 0xC0) != 0x80) {
            count += !(i == 0 && at >= 3 && memcmp(lexer->text, "\xEF\xBB\xBF", 3) == 0);
        }
    }
    lexer->line_at = at;
    lexer->line_column = count;
    return count;
}

/* The const of the interface is cast away: lexers are ours and never constant. */
static bool begins_range(const TSLexer *view) {
    Lexer *lexer = (Lexer *)(uintptr_t)view;
    count_calls(lexer, 1);
    return lexer->at == 0 && lexer->size > 0;
}

static bool is_end(const TSLexer *view) {
    Lexer *lexer = (Lexer *)(uintptr_t)view;
    count_calls(lexer, 1);
    return lexer->at >= lexer->size;
}

static void log_nothing(const TSLexer *view, const char *format, ...) {
    (void)view;
    (void)format;
}

static const TSLexer CALLBACKS = {0, 0, advance, mark_end, column, begins_range, is_end, log_nothing};

static void go_to(Lexer *lexer, uint32_t place) {
    if (lexer->at != place) {
        lexer->at = place;
        read_lookahead(lexer);
    }
}

enum { TOKEN_CALLS_PER_BYTE = 16, TOKEN_CALLS_ANYWAY = 10 * 1000 };

static void begin_token(Lexer *lexer) {
    lexer->max_token_calls = lexer->calls + TOKEN_CALLS_PER_BYTE * (uint64_t)lexer->size + TOKEN_CALLS_ANYWAY;
    if (lexer->max_token_calls > lexer->max_calls) {
        lexer->max_token_calls = lexer->max_calls;
    }
    lexer->token_start = lexer->at;
    lexer->has_end = false;
    lexer->data.result_symbol = 0;
    if (lexer->at == 0 && lexer->data.lookahead == 0xFEFF) {
        advance(&lexer->data, true);
    }
}

static void end_token(Lexer *lexer) {
    if (!lexer->has_end) {
        lexer->token_end = lexer->at;
    }
    if (lexer->token_end < lexer->token_start) {
        lexer->token_start = lexer->token_end;
    }
}

void lexer_start(Lexer *lexer, const char *text, uint32_t size, uint64_t max_calls) {
    memset(lexer, 0, sizeof *lexer);
    lexer->max_calls = lexer->max_token_calls = max_calls;
    lexer->data = CALLBACKS;
    lexer->text = (const unsigned char *)text;
    lexer->size = size;
    read_lookahead(lexer);
}

enum { MAX_SCANNER_STATE_BYTES = 32 << 20 }; /* bytes of a scanner's states */

/* Whether the external scanner finds a token; the number of its state afterwards goes to `scanner_state`. */
static bool scan(Parser *parser, uint32_t version, TSStateId state, TSLexerMode mode, bool error_mode, uint32_t *scanner_state) {
    const TSLanguage *grammar = parser->grammar;
    Lexer *lexer = &parser->lexer;
    uint32_t from = lexer->at, previous = parser->heads[version].scanner_state;
    begin_token(lexer);
    size_t size = 0;
    const char *data = previous ? texts_at(&parser->scanner_states, previous, &size) : NULL;
    grammar->external_scanner.deserialize(parser->scanner, data, (unsigned)size);
    bool found = grammar->external_scanner.scan(
        parser->scanner, &lexer->data, grammar->external_scanner.states + (size_t)grammar->external_token_count * mode.external);
    end_token(lexer);
    if (!found) {
        return false;
    }
    if (lexer->data.result_symbol >= grammar->external_token_count) {
        parser->failed = true;
        return false;
    }
    char buffer[SERIALIZATION_BUFFER_SIZE];
    unsigned written = grammar->external_scanner.serialize(parser->scanner, buffer);
    *scanner_state = written > SERIALIZATION_BUFFER_SIZE || parser->scanner_states.text.used > MAX_SCANNER_STATE_BYTES ? NONE : texts_number(&parser->scanner_states, buffer, written);
    if (*scanner_state == NONE) {
        parser->failed = true;
        return false;
    }
    /* An empty token that changes nothing would be found again and again. */
    if (lexer->token_end <= from && *scanner_state == previous) {
        TSSymbol symbol = grammar->external_scanner.symbol_map[lexer->data.result_symbol];
        if (error_mode || !stack_has_advanced(parser, version) || language_next_state(parser, state, symbol) == state) {
            return false;
        }
    }
    return true;
}

/* The lookahead of a version in a parse state; NONE where the state takes none, or on failure. */
uint32_t lex_token(Parser *parser, uint32_t version, TSStateId state) {
    const TSLanguage *grammar = parser->grammar;
    Lexer *lexer = &parser->lexer;
    TSLexerMode mode = language_lex_mode(grammar, state);
    if (mode.state == NO_LOOKAHEAD) {
        return NONE;
    }
    const StackHead *head = &parser->heads[version];
    uint32_t from = parser->stack_nodes[head->node].position, scanner_state = 0;
    uint32_t skipped_from = NONE, skipped_to = NONE;
    bool is_external = false, error_mode = state == 0;
    go_to(lexer, from);
    for (;;) {
        uint32_t here = lexer->at;
        if (mode.external) {
            if (scan(parser, version, state, mode, error_mode, &scanner_state)) {
                is_external = true;
                break;
            }
            go_to(lexer, here);
        }
        begin_token(lexer);
        bool found = grammar->lex_fn(&lexer->data, mode.state);
        end_token(lexer);
        if (parser->failed || lexer->broken) {
            parser->failed = true;
            return NONE;
        }
        if (found) {
            break;
        }
        if (!error_mode) {
            error_mode = true;
            mode = language_lex_mode(grammar, 0);
            go_to(lexer, from);
            continue;
        }
        /* No token starts here: skip characters until one does. */
        if (skipped_from == NONE) {
            skipped_from = skipped_to = lexer->token_start;
        }
        if (lexer->at == skipped_to) {
            if (lexer->at >= lexer->size) {
                break;
            }
            advance(&lexer->data, false);
        }
        skipped_to = lexer->at;
    }
    uint32_t number = subtree_new(parser);
    if (number == NONE || lexer->broken) {
        parser->failed = true;
        return NONE;
    }
    Subtree *subtree = &parser->subtrees[number];
    memset(subtree, 0, sizeof *subtree);
    subtree->symbol = lexer->data.result_symbol;
    subtree->begin = from;
    subtree->start = lexer->token_start;
    subtree->end = lexer->token_end;
    subtree->state = state;
    if (skipped_from != NONE) {
        subtree->symbol = SYMBOL_ERROR;
        subtree->start = skipped_from;
        subtree->end = skipped_to;
    } else if (is_external) {
        subtree->symbol = grammar->external_scanner.symbol_map[subtree->symbol];
        subtree->flags = scanner_state != head->scanner_state ? IS_EXTERNAL | CHANGES_SCANNER_STATE : IS_EXTERNAL;
        subtree->children = scanner_state;
    } else if (subtree->symbol == grammar->keyword_capture_token && subtree->symbol) {
        go_to(lexer, subtree->start);
        begin_token(lexer);
        if (grammar->keyword_lex_fn(&lexer->data, 0)) {
            subtree->flags = IS_KEYWORD;
            TSSymbol keyword = lexer->data.result_symbol;
            if (lexer->has_end && lexer->token_end == subtree->end && keyword < grammar->symbol_count &&
                (language_lookup(parser, state, keyword) || language_is_reserved_word(grammar, state, keyword))) {
                subtree->symbol = keyword;
            }
        }
    }
    if (subtree->symbol == SYMBOL_END) {
        subtree->flags |= IS_EXTRA;
    }
    /* Generated code is not trusted: tokens lie in the text and in order. */
    if ((subtree->symbol >= grammar->token_count && subtree->symbol != SYMBOL_ERROR) || subtree->start < from ||
        subtree->end < subtree->start || subtree->end > lexer->size) {
        parser->failed = true;
        return NONE;
    }
    return number;
}

/* Tokens: the text as a grammar's generated lexer and its scanner read it, and the look-ups in a grammar's tables. */

#include "treesitter/parser.h"

#include <stdlib.h>

/* The character at the reader's place. Text that is no UTF-8 is left to others. */
static inline void look(Reader *reader) {
    if (reader->at >= reader->size) {
        reader->view.ahead = 0;
        reader->width = 1;
        return;
    }
    const unsigned char *at = reader->text + reader->at;
    uint32_t left = reader->size - reader->at, first = at[0];
    if (first < 0x80) {
        reader->view.ahead = (int32_t)first;
        reader->width = 1;
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
        reader->broken = true;
        reader->view.ahead = -1;
        reader->width = 1;
        return;
    }
    reader->view.ahead = (int32_t)point;
    reader->width = width;
}

/* Counts what the grammar's code asks for. A scanner that never ends, as some do at the end of a text, asks for ever: it is left
   in the middle of its work, and what it holds of memory is lost. */
static inline void count_looks(Reader *reader, uint64_t count) {
    reader->looks += count;
    if (reader->looks > reader->token_looks) {
        longjmp(reader->escape, 1);
    }
}

static void advance(View *view, bool is_space) {
    Reader *reader = (Reader *)(void *)view;
    count_looks(reader, 1);
    if (reader->at >= reader->size) {
        return;
    }
    reader->at += reader->width;
    if (is_space) {
        reader->token_start = reader->at;
    }
    look(reader);
}

static void mark_end(View *view) {
    Reader *reader = (Reader *)(void *)view;
    count_looks(reader, 1);
    reader->token_end = reader->at;
    reader->has_end = true;
}

/* Characters since the line began; a byte order mark is none. */
static uint32_t column(View *view) {
    Reader *reader = (Reader *)(void *)view;
    uint32_t at = reader->at, from = reader->line_at, count = reader->line_column;
    if (at < from) {
        from = reader->line;
        count = 0;
        while (at < from) {
            /* An earlier line: its begin is looked for backwards. */
            from = at;
            while (from > 0 && reader->text[from - 1] != '\n') {
                from--;
            }
        }
        reader->line = from;
        count_looks(reader, at - from);
    }
    count_looks(reader, at - from + 1);
    for (uint32_t i = from; i < at; i++) {
        unsigned char byte = reader->text[i];
        if (byte == '\n') {
            count = 0;
            reader->line = i + 1;
        } else if ((byte & 0xC0) != 0x80) {
            count += !(i == 0 && at >= 3 && memcmp(reader->text, "\xEF\xBB\xBF", 3) == 0);
        }
    }
    reader->line_at = at;
    reader->line_column = count;
    return count;
}

/* Readers are ours and never constant, whatever the interface says. */
static bool begins_range(const View *view) {
    Reader *reader = (Reader *)(uintptr_t)view;
    count_looks(reader, 1);
    return reader->at == 0 && reader->size > 0;
}

static bool is_end(const View *view) {
    Reader *reader = (Reader *)(uintptr_t)view;
    count_looks(reader, 1);
    return reader->at >= reader->size;
}

static void say_nothing(const View *view, const char *format, ...) {
    (void)view;
    (void)format;
}

static const View VIEW = {0, 0, advance, mark_end, column, begins_range, is_end, say_nothing};

static void go_to(Reader *reader, uint32_t place) {
    if (reader->at != place) {
        reader->at = place;
        look(reader);
    }
}

enum { TOKEN_LOOKS_PER_BYTE = 16, TOKEN_LOOKS_ANYWAY = 10 * 1000 };

static void begin_token(Reader *reader) {
    reader->token_looks = reader->looks + TOKEN_LOOKS_PER_BYTE * (uint64_t)reader->size + TOKEN_LOOKS_ANYWAY;
    if (reader->token_looks > reader->most_looks) {
        reader->token_looks = reader->most_looks;
    }
    reader->token_start = reader->at;
    reader->has_end = false;
    reader->view.found = 0;
    if (reader->at == 0 && reader->view.ahead == 0xFEFF) {
        advance(&reader->view, true);
    }
}

static void end_token(Reader *reader) {
    if (!reader->has_end) {
        reader->token_end = reader->at;
    }
    if (reader->token_end < reader->token_start) {
        reader->token_start = reader->token_end;
    }
}

void reader_open(Reader *reader, const char *text, uint32_t size, uint64_t most_looks) {
    memset(reader, 0, sizeof *reader);
    reader->most_looks = reader->token_looks = most_looks;
    reader->view = VIEW;
    reader->text = (const unsigned char *)text;
    reader->size = size;
    look(reader);
}

bool grammar_reserves(const Grammar *grammar, State state, Symbol symbol) {
    uint32_t set = grammar_mode(grammar, state).reserved;
    if (set == 0) {
        return false;
    }
    const Symbol *words = grammar->reserved_words + (size_t)set * grammar->longest_reserved;
    for (uint32_t i = 0; i < grammar->longest_reserved && words[i]; i++) {
        if (words[i] == symbol) {
            return true;
        }
    }
    return false;
}

/* States with few symbols list them, in groups of one value. */
uint32_t grammar_search(Parser *parser, State state, Symbol symbol, uint32_t slot) {
    const Grammar *grammar = parser->grammar;
    const uint16_t *data = grammar->small_table + grammar->small_places[state - grammar->large_states];
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
    parser->known[slot].key = (uint32_t)state << 16 | symbol;
    parser->known[slot].value = value;
    return value;
}

State grammar_next(Parser *parser, State state, Symbol symbol) {
    if (symbol == SYMBOL_ERROR || symbol == SYMBOL_PASSED) {
        return 0;
    }
    uint32_t found = grammar_lookup(parser, state, symbol);
    if (symbol >= parser->grammar->tokens) {
        return (State)found;
    }
    const ActionEntry *entry = parser->grammar->actions + found;
    if (entry->head.count) {
        Action last = entry[entry->head.count].action;
        if (last.type == SHIFT) {
            return last.shift.extra ? state : last.shift.state;
        }
    }
    return 0;
}

enum { MOST_SCANNED = 32 << 20 }; /* bytes of a scanner's states */

/* Whether the scanner finds a token here; its state afterwards goes to `scanned`. */
static bool scan(Parser *parser, uint32_t version, State state, LexMode mode, bool mending, uint32_t *scanned) {
    const Grammar *grammar = parser->grammar;
    Reader *reader = &parser->reader;
    uint32_t from = reader->at, before = parser->heads[version].scanned;
    begin_token(reader);
    size_t size = 0;
    const char *data = before ? texts_at(&parser->scanned, before, &size) : NULL;
    grammar->scanner.deserialize(parser->scanner, data, (unsigned)size);
    bool found = grammar->scanner.scan(
        parser->scanner, &reader->view, grammar->scanner.states + (size_t)grammar->external_tokens * mode.external);
    end_token(reader);
    if (!found) {
        return false;
    }
    if (reader->view.found >= grammar->external_tokens) {
        parser->failed = true;
        return false;
    }
    char buffer[SCANNER_STATE];
    unsigned written = grammar->scanner.serialize(parser->scanner, buffer);
    *scanned = written > SCANNER_STATE || parser->scanned.text.used > MOST_SCANNED ? NONE : texts_number(&parser->scanned, buffer, written);
    if (*scanned == NONE) {
        parser->failed = true;
        return false;
    }
    /* A token without text that changes nothing would be found for ever. */
    if (reader->token_end <= from && *scanned == before) {
        Symbol symbol = grammar->scanner.symbols[reader->view.found];
        if (mending || !stack_has_advanced(parser, version) || grammar_next(parser, state, symbol) == state) {
            return false;
        }
    }
    return true;
}

/* The token after a version's place, as its state reads it; NONE where that state wants none, or on failure. */
uint32_t token_read(Parser *parser, uint32_t version, State state) {
    const Grammar *grammar = parser->grammar;
    Reader *reader = &parser->reader;
    LexMode mode = grammar_mode(grammar, state);
    if (mode.state == NO_TOKEN_AHEAD) {
        return NONE;
    }
    const Head *head = &parser->heads[version];
    uint32_t from = parser->places[head->place].position, scanned = 0;
    uint32_t passed_from = NONE, passed_to = NONE;
    bool is_external = false, mending = state == 0;
    go_to(reader, from);
    for (;;) {
        uint32_t here = reader->at;
        if (mode.external) {
            if (scan(parser, version, state, mode, mending, &scanned)) {
                is_external = true;
                break;
            }
            go_to(reader, here);
        }
        begin_token(reader);
        bool found = grammar->lex(&reader->view, mode.state);
        end_token(reader);
        if (parser->failed || reader->broken) {
            parser->failed = true;
            return NONE;
        }
        if (found) {
            break;
        }
        if (!mending) {
            mending = true;
            mode = grammar_mode(grammar, 0);
            go_to(reader, from);
            continue;
        }
        /* Nothing begins like this: characters are passed over until something does. */
        if (passed_from == NONE) {
            passed_from = passed_to = reader->token_start;
        }
        if (reader->at == passed_to) {
            if (reader->at >= reader->size) {
                break;
            }
            advance(&reader->view, false);
        }
        passed_to = reader->at;
    }
    uint32_t number = piece_new(parser);
    if (number == NONE || reader->broken) {
        parser->failed = true;
        return NONE;
    }
    Piece *piece = &parser->pieces[number];
    memset(piece, 0, sizeof *piece);
    piece->symbol = reader->view.found;
    piece->begin = from;
    piece->start = reader->token_start;
    piece->end = reader->token_end;
    piece->state = state;
    if (passed_from != NONE) {
        piece->symbol = SYMBOL_ERROR;
        piece->start = passed_from;
        piece->end = passed_to;
    } else if (is_external) {
        piece->symbol = grammar->scanner.symbols[piece->symbol];
        piece->flags = scanned != head->scanned ? IS_EXTERNAL | IS_CHANGING : IS_EXTERNAL;
        piece->children = scanned;
    } else if (piece->symbol == grammar->word && piece->symbol) {
        go_to(reader, piece->start);
        begin_token(reader);
        if (grammar->lex_keyword(&reader->view, 0)) {
            piece->flags = IS_KEYWORD;
            Symbol keyword = reader->view.found;
            if (reader->has_end && reader->token_end == piece->end && keyword < grammar->symbols &&
                (grammar_lookup(parser, state, keyword) || grammar_reserves(grammar, state, keyword))) {
                piece->symbol = keyword;
            }
        }
    }
    if (piece->symbol == SYMBOL_END) {
        piece->flags |= IS_EXTRA;
    }
    /* Generated code is not asked to be right: tokens are in the text and come one after the other. */
    if ((piece->symbol >= grammar->tokens && piece->symbol != SYMBOL_ERROR) || piece->start < from ||
        piece->end < piece->start || piece->end > reader->size) {
        parser->failed = true;
        return NONE;
    }
    return number;
}

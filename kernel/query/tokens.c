/* How many cl100k_base tokens a text has. The reference and the layout of the table are in src/lurcher/answer/token_table.py. */

#include "support/kernel.h"

#include <stdlib.h>

enum { OTHER, LETTER, NUMBER, SPACE };
enum { HEADER = 20, PAGES = 0x1100, BUCKETS = 1 << 15, BUCKET_SHIFT = 32 - 15, LONGEST = 128 };
#define NO_RANK UINT32_MAX
#define LET_OTHERS_RUN 4096 /* bytes of a text that is counted without the interpreter's lock */

typedef struct {
    const uint8_t *page_numbers, *pages, *ends, *entries;
    uint32_t page_count, entry_bytes;
} Table;

/* Room to join the parts of one piece in. */
typedef struct {
    uint32_t *next, *before, *ranks; /* by the byte that a part starts with; the rank is that of it and the next part */
    uint64_t *heap; /* rank and start, the smallest first */
    size_t room, heap_used, heap_room;
} Room;

static uint32_t crc_table[256];

static void fill_crc_table(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t sum = byte;
        for (int bit = 0; bit < 8; bit++) {
            sum = (sum >> 1) ^ (sum & 1 ? 0xEDB88320u : 0);
        }
        crc_table[byte] = sum;
    }
}

static uint32_t read_number(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* 0, or -1 with an exception where the sections do not fill the table. */
static int read_table(const Py_buffer *view, Table *table) {
    const uint8_t *bytes = view->buf;
    if (view->len >= HEADER && memcmp(bytes, "LTOKENS1", 8) == 0) {
        table->page_count = read_number(bytes + 8);
        table->entry_bytes = read_number(bytes + 12);
        uint64_t size = HEADER + PAGES + (uint64_t)table->page_count * 256 + 4 * (BUCKETS + 1) + (uint64_t)table->entry_bytes;
        if (table->page_count > 0 && size == (uint64_t)view->len) {
            table->page_numbers = bytes + HEADER;
            table->pages = table->page_numbers + PAGES;
            table->ends = table->pages + (size_t)table->page_count * 256;
            table->entries = table->ends + 4 * (BUCKETS + 1);
            return 0;
        }
    }
    PyErr_SetString(PyExc_ValueError, "this is no table of tokens");
    return -1;
}

static uint32_t find_rank(const Table *table, const uint8_t *token, size_t size) {
    if (size > LONGEST) {
        return NO_RANK;
    }
    uint32_t sum = UINT32_MAX;
    for (size_t at = 0; at < size; at++) {
        sum = crc_table[(sum ^ token[at]) & 255] ^ (sum >> 8);
    }
    const uint8_t *ends = table->ends + 4 * (size_t)(~sum >> BUCKET_SHIFT);
    size_t at = read_number(ends), end = read_number(ends + 4);
    if (end > table->entry_bytes) {
        return NO_RANK;
    }
    while (at + 4 <= end) {
        const uint8_t *entry = table->entries + at;
        if (entry[0] == size && size <= end - at - 4 && memcmp(entry + 4, token, size) == 0) {
            return (uint32_t)entry[1] | (uint32_t)entry[2] << 8 | (uint32_t)entry[3] << 16;
        }
        at += 4 + (size_t)entry[0];
    }
    return NO_RANK;
}

/* The class of the character that starts here, and its bytes. The text is UTF-8 that Python made. */
static int class_of(const Table *table, const uint8_t *text, size_t *size) {
    uint32_t code = text[0];
    if (code < 0x80) {
        *size = 1;
    } else if (code < 0xE0) {
        *size = 2;
        code = (code & 31) << 6 | (text[1] & 63);
    } else if (code < 0xF0) {
        *size = 3;
        code = (code & 15) << 12 | (uint32_t)(text[1] & 63) << 6 | (text[2] & 63);
    } else {
        *size = 4;
        code = (code & 7) << 18 | (uint32_t)(text[1] & 63) << 12 | (uint32_t)(text[2] & 63) << 6 | (text[3] & 63);
    }
    uint32_t page = table->page_numbers[code >> 8];
    return page < table->page_count ? table->pages[page * 256 + (code & 255)] : OTHER;
}

/* Where the run of characters of a class ends that starts here, after `most` of them at the latest. */
static size_t skip_class(const Table *table, const uint8_t *text, size_t at, size_t end, int wanted, size_t most) {
    size_t size;
    while (at < end && most-- > 0 && class_of(table, text + at, &size) == wanted) {
        at += size;
    }
    return at;
}

static int is_newline(uint8_t byte) { return byte == '\n' || byte == '\r'; }

/* The bytes of an English ending such as 's or 'LL, 0 if there is none. */
static size_t ending(const uint8_t *text, size_t left) {
    if (left < 2 || text[0] != '\'') {
        return 0;
    }
    uint8_t first = text[1] | 32, second = left > 2 ? text[2] | 32 : 0;
    if (first == 's' || first == 'd' || first == 'm' || first == 't') {
        return 2;
    }
    if ((first == 'l' && second == 'l') || ((first == 'v' || first == 'r') && second == 'e')) {
        return 3;
    }
    return left > 2 && text[1] == 0xC5 && text[2] == 0xBF ? 3 : 0; /* U+017F, an s where capitals do not matter */
}

/* White space that no other piece begins with: up to its last newline, or all but the last character, which goes with a word. */
static size_t skip_space(const Table *table, const uint8_t *text, size_t start, size_t end) {
    size_t at = start, last = start, newline = 0, size;
    class_of(table, text + at, &size); /* the first character counts as white space whatever a damaged table says of it */
    do {
        if (is_newline(text[at])) {
            newline = at + 1;
        }
        last = at;
        at += size;
    } while (at < end && class_of(table, text + at, &size) == SPACE);
    if (at == end) {
        return end;
    }
    return newline ? newline : last > start ? last : at;
}

/* Where the piece ends that starts at `at`, which is before `end`. */
static size_t piece_end(const Table *table, const uint8_t *text, size_t at, size_t end) {
    size_t size, found = ending(text + at, end - at);
    if (found) {
        return at + found;
    }
    int kind = class_of(table, text + at, &size);
    if (kind == NUMBER) {
        return skip_class(table, text, at, end, NUMBER, 3);
    }
    if (kind != LETTER && is_newline(text[at])) {
        return skip_space(table, text, at, end);
    }
    size_t word = kind == LETTER ? at : at + size, after = skip_class(table, text, word, end, LETTER, SIZE_MAX);
    if (after > word) {
        return after;
    }
    size_t signs = text[at] == ' ' ? at + 1 : at;
    after = skip_class(table, text, signs, end, OTHER, SIZE_MAX);
    if (after > signs) {
        while (after < end && is_newline(text[after])) {
            after++;
        }
        return after;
    }
    return skip_space(table, text, at, end);
}

static int make_room(Room *room, size_t size) {
    if (size <= room->room) {
        return 0;
    }
    size_t wanted = size < 256 ? 256 : size;
    uint32_t *numbers = realloc(room->next, 3 * wanted * sizeof *numbers);
    if (numbers == NULL) {
        return -1;
    }
    room->next = numbers;
    room->before = numbers + wanted;
    room->ranks = numbers + 2 * wanted;
    room->room = wanted;
    return 0;
}

static int push(Room *room, uint32_t rank, size_t start) {
    if (room->heap_used == room->heap_room) {
        size_t wanted = room->heap_room ? 2 * room->heap_room : 256;
        uint64_t *heap = realloc(room->heap, wanted * sizeof *heap);
        if (heap == NULL) {
            return -1;
        }
        room->heap = heap;
        room->heap_room = wanted;
    }
    uint64_t entry = (uint64_t)rank << 32 | start;
    size_t at = room->heap_used++;
    for (; at > 0 && room->heap[(at - 1) / 2] > entry; at = (at - 1) / 2) {
        room->heap[at] = room->heap[(at - 1) / 2];
    }
    room->heap[at] = entry;
    return 0;
}

static uint64_t pop(Room *room) {
    uint64_t *heap = room->heap, first = heap[0], entry = heap[--room->heap_used];
    size_t at = 0, used = room->heap_used;
    for (size_t below; (below = 2 * at + 1) < used; at = below) {
        if (below + 1 < used && heap[below + 1] < heap[below]) {
            below++;
        }
        if (heap[below] >= entry) {
            break;
        }
        heap[at] = heap[below];
    }
    heap[at] = entry;
    return first;
}

/* The rank of the part that starts here joined with the next one. */
static int rank_pair(const Table *table, Room *room, const uint8_t *piece, size_t size, size_t start) {
    size_t middle = room->next[start];
    uint32_t rank = middle >= size ? NO_RANK : find_rank(table, piece + start, room->next[middle] - start);
    room->ranks[start] = rank;
    return rank == NO_RANK ? 0 : push(room, rank, start);
}

/* How many parts are left of a piece when no two make a token; -1: no memory. */
static Py_ssize_t join(const Table *table, Room *room, const uint8_t *piece, size_t size) {
    if (size >= UINT32_MAX || make_room(room, size) < 0) {
        return -1;
    }
    room->heap_used = 0;
    for (size_t start = 0; start < size; start++) {
        room->next[start] = (uint32_t)start + 1;
        room->before[start] = (uint32_t)start - 1;
    }
    for (size_t start = 0; start < size; start++) {
        if (rank_pair(table, room, piece, size, start) < 0) {
            return -1;
        }
    }
    size_t parts = size;
    while (room->heap_used > 0) {
        uint64_t first = pop(room);
        size_t start = (uint32_t)first;
        if (room->ranks[start] != first >> 32) {
            continue; /* one of its parts has been joined with another since */
        }
        size_t joined = room->next[start], after = room->next[joined];
        room->ranks[joined] = NO_RANK;
        room->next[start] = (uint32_t)after;
        if (after < size) {
            room->before[after] = (uint32_t)start;
        }
        parts--;
        if (rank_pair(table, room, piece, size, start) < 0 ||
            (start > 0 && rank_pair(table, room, piece, size, room->before[start]) < 0)) {
            return -1;
        }
    }
    return (Py_ssize_t)parts;
}

static Py_ssize_t count(const Table *table, const uint8_t *text, size_t size) {
    Room room = {0};
    Py_ssize_t tokens = 0, more = 0;
    for (size_t at = 0, after; at < size && more >= 0; at = after) {
        after = piece_end(table, text, at, size);
        size_t length = after - at;
        more = length == 1 || find_rank(table, text + at, length) != NO_RANK ? 1 : join(table, &room, text + at, length);
        tokens += more;
    }
    free(room.next);
    free(room.heap);
    return more < 0 ? -1 : tokens;
}

PyObject *kernel_count_tokens(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer view;
    PyObject *string;
    Table table;
    if (!PyArg_ParseTuple(arguments, "y*U", &view, &string)) {
        return NULL;
    }
    Py_ssize_t size, tokens = -1;
    const char *text = PyUnicode_AsUTF8AndSize(string, &size);
    if (text != NULL && read_table(&view, &table) == 0) {
        if (crc_table[1] == 0) {
            fill_crc_table();
        }
        if (size < LET_OTHERS_RUN) {
            tokens = count(&table, (const uint8_t *)text, (size_t)size);
        } else {
            Py_BEGIN_ALLOW_THREADS
            tokens = count(&table, (const uint8_t *)text, (size_t)size);
            Py_END_ALLOW_THREADS
        }
        if (tokens < 0) {
            PyErr_NoMemory();
        }
    }
    PyBuffer_Release(&view);
    return tokens < 0 ? NULL : PyLong_FromSsize_t(tokens);
}

/* Identifiers in ASCII → terms: the compound without underscores, then its parts, where they say more than it does. */

#include "index/split.h"

#include <string.h>

#define ROW(class) class, class, class, class, class, class, class, class, class, class
const unsigned char CLASS[256] = {
    ['0'] = DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT,
    ['A'] = ROW(UPPER), ROW(UPPER), UPPER, UPPER, UPPER, UPPER, UPPER, UPPER,
    ['_'] = LINE,
    ['a'] = ROW(LOWER), ROW(LOWER), LOWER, LOWER, LOWER, LOWER, LOWER, LOWER,
};

static int class_at(const char *text, size_t size, size_t at) {
    return at < size ? CLASS[(unsigned char)text[at]] : BETWEEN;
}

/* Where the run of one class that starts at `at` ends. */
static size_t run_end(const char *text, size_t size, size_t at, int class) {
    while (class_at(text, size, at) == class) {
        at++;
    }
    return at;
}

/* Where the part that starts at `at`, which is a letter or a digit, ends: HTTPResponse is HTTP and Response. */
static size_t part_end(const char *text, size_t size, size_t at) {
    int class = class_at(text, size, at);
    size_t end = run_end(text, size, at, class);
    if (class == UPPER && class_at(text, size, end) == LOWER) {
        return end - at > 1 ? end - 1 : run_end(text, size, end, LOWER);
    }
    return end;
}

void split_ascii(const char *identifier, size_t size, Terms *terms) {
    terms->count = 0;
    if (size > MAX_IDENTIFIER) {
        return;
    }
    size_t length = 0, letters = 0, parts = 0, numbers = 0;
    for (size_t at = 0; at < size;) {
        int class = class_at(identifier, size, at);
        if (class == LINE || class == BETWEEN) {
            at++;
            continue;
        }
        size_t end = part_end(identifier, size, at);
        parts++;
        numbers += class == DIGIT;
        letters += class != DIGIT;
        terms->parts[parts].start = (unsigned char)length;
        terms->parts[parts].size = (unsigned char)(end - at);
        for (; at < end; at++) {
            char byte = identifier[at];
            terms->text[length++] = (char)(CLASS[(unsigned char)byte] == UPPER ? byte + ('a' - 'A') : byte);
        }
    }
    if (length == 0 || (letters == 0 && length > MAX_NUMBER)) {
        return;
    }
    terms->parts[0].start = 0;
    terms->parts[0].size = (unsigned char)length;
    terms->count = 1;
    if (letters == 0 || parts == 1 || numbers > MAX_DIGIT_BORDERS) {
        return;
    }
    for (size_t i = 1; i <= parts; i++) {
        char first = terms->text[terms->parts[i].start];
        if (terms->parts[i].size > 1 || CLASS[(unsigned char)first] == DIGIT) {
            terms->parts[terms->count++] = terms->parts[i];
        }
    }
}

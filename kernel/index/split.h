/* Identifiers in ASCII → terms, as terms/split.py has it. */

#ifndef LURCHER_SPLIT_H
#define LURCHER_SPLIT_H

#include <stddef.h>

enum { MAX_IDENTIFIER = 128, MAX_NUMBER = 10, MAX_DIGIT_BORDERS = 6 };

typedef struct {
    unsigned char start, size;
} Part;

typedef struct {
    char text[MAX_IDENTIFIER]; /* lower case, without underscores: every term is a piece of it */
    Part parts[MAX_IDENTIFIER + 1];
    size_t count; /* the compound first; none: no term at all */
} Terms;

void split_ascii(const char *identifier, size_t size, Terms *terms);

/* What a byte of ASCII is. */
enum { BETWEEN, LINE, DIGIT, LOWER, UPPER };
extern const unsigned char CLASS[256];

#endif

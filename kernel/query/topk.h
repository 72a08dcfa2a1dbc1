/* The best of many, without putting all of them in order. */

#ifndef LURCHER_RIVALS_H
#define LURCHER_RIVALS_H

#include "query/array.h"

/* One of those that compete: a value, a rank that decides between equals, and its place. */
typedef struct {
    double value;
    int64_t rank;
    Py_ssize_t place;
} Rival;

/* The best so far, at most so many, the worst of them on top once there are as many. */
typedef struct {
    Rival *heap;
    Py_ssize_t held, most;
} Rivals;

/* 0, or -1 with an exception. */
int rivals_begin(Rivals *rivals, Py_ssize_t most);
void rivals_offer(Rivals *rivals, double value, int64_t rank, Py_ssize_t place);
/* Those that are left, by their places. */
void rivals_end(Rivals *rivals);

static inline int rivals_want(const Rivals *rivals, double value) {
    return rivals->held < rivals->most || !(value < rivals->heap[0].value);
}

#endif

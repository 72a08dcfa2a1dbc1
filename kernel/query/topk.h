/* The best of many, without putting all of them in order. */

#ifndef LURCHER_TOPK_H
#define LURCHER_TOPK_H

#include "query/array.h"

/* A value, a rank that decides between equals, and its place. */
typedef struct {
    double value;
    int64_t rank;
    Py_ssize_t place;
} Candidate;

/* The best so far, at most so many, the worst of them on top once there are as many. */
typedef struct {
    Candidate *heap;
    Py_ssize_t held, most;
} TopK;

/* 0, or -1 with an exception. */
int topk_begin(TopK *top, Py_ssize_t most);
void topk_offer(TopK *top, double value, int64_t rank, Py_ssize_t place);
/* Those that are left, by their places. */
void topk_end(TopK *top);
/* The best of some values, those above zero, best first; of equals the first. */
void topk_of_run(TopK *top, const double *values, Py_ssize_t count);

static inline int topk_want(const TopK *top, double value) {
    return top->held < top->most || !(value < top->heap[0].value);
}

#endif

/* Long work on two cores: what it finds does not depend on whether there are two. */

#include "two.h"

#include <stddef.h>

#ifdef _WIN32

void in_two(void (*work)(void *part), void *one, void *other) {
    work(one);
    work(other);
}

#else

#include <pthread.h>

typedef struct {
    void (*work)(void *part);
    void *part;
} Errand;

static void *run(void *argument) {
    const Errand *errand = argument;
    errand->work(errand->part);
    return NULL;
}

void in_two(void (*work)(void *part), void *one, void *other) {
    Errand errand = {work, other};
    pthread_t thread;
    int apart = pthread_create(&thread, NULL, run, &errand) == 0;
    work(one);
    if (apart) {
        pthread_join(thread, NULL);
    } else {
        work(other);
    }
}

#endif

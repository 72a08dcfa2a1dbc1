/* Long work on two cores: what it finds does not depend on whether there are two. */

#include "support/parallel.h"

#include <stddef.h>

#ifdef _WIN32

void in_two(void (*work)(void *part), void *one, void *other) {
    work(one);
    work(other);
}

#else

#include <pthread.h>
#include <stdlib.h>

/* The second part: whoever comes first does it. On a busy machine the other thread may come late, and nobody waits for its start;
   so this outlives whichever of both ends first. */
typedef struct {
    void (*work)(void *part);
    void *part;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    int claimed, done, holders;
} Errand;

static void let_go(Errand *errand) {
    pthread_mutex_lock(&errand->lock);
    int last = --errand->holders == 0;
    pthread_mutex_unlock(&errand->lock);
    if (last) {
        pthread_cond_destroy(&errand->ended);
        pthread_mutex_destroy(&errand->lock);
        free(errand);
    }
}

/* Whether the part was left to do. */
static int claim(Errand *errand) {
    pthread_mutex_lock(&errand->lock);
    int free_to_do = !errand->claimed;
    errand->claimed = 1;
    pthread_mutex_unlock(&errand->lock);
    return free_to_do;
}

static void *run(void *argument) {
    Errand *errand = argument;
    if (claim(errand)) {
        errand->work(errand->part);
        pthread_mutex_lock(&errand->lock);
        errand->done = 1;
        pthread_cond_signal(&errand->ended);
        pthread_mutex_unlock(&errand->lock);
    }
    let_go(errand);
    return NULL;
}

static void wait_for(Errand *errand) {
    pthread_mutex_lock(&errand->lock);
    while (!errand->done) {
        pthread_cond_wait(&errand->ended, &errand->lock);
    }
    pthread_mutex_unlock(&errand->lock);
}

void in_two(void (*work)(void *part), void *one, void *other) {
    Errand *errand = calloc(1, sizeof *errand);
    pthread_t thread;
    if (errand == NULL) {
        work(one);
        work(other);
        return;
    }
    *errand = (Errand){work, other, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 2};
    if (pthread_create(&thread, NULL, run, errand) == 0) {
        pthread_detach(thread);
    } else {
        errand->holders = 1;
    }
    work(one);
    if (claim(errand)) {
        work(other);
    } else {
        wait_for(errand);
    }
    let_go(errand);
}

#endif

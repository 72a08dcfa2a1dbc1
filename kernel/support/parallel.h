/* Long work on two cores. */

#ifndef LURCHER_TWO_H
#define LURCHER_TWO_H

/* Does both parts of some work, which share nothing that either writes, at the same time where that can be; else one after the
   other. Without the interpreter's lock. */
void in_two(void (*work)(void *part), void *one, void *other);

#endif

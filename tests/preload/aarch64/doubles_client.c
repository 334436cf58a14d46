// A program that calls the functions of doubles.c.

#include "doubles.h"

#include <stdio.h>

int main(void) {
    for (int i = 0; i < 3; ++i) {
        printf("%g\n", sgemm(i, 2, 3, 4, 5, 6, 7, 8, 9, 10));
        const struct four four = SGEMM(i, 2, 3, 4, 5, 6, 7, 8, 9, 10);
        printf("%g %g %g %g\n", four.v[0], four.v[1], four.v[2], four.v[3]);
        const struct five five = cgemm(i, 2, 3, 4, 5, 6, 7, 8, 9, 10);
        printf("%g %g %g %g %g\n", five.v[0], five.v[1], five.v[2], five.v[3], five.v[4]);
    }
    return 0;
}

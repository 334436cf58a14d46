// A library whose functions take ten doubles, two more than there are registers. They return one double, or four in
// registers, or five in memory to which x8 points.
//
// WITH_BLAS: the library also has real products under some of these names, so that only the arguments show that the
// other functions are no products.

#include "doubles.h"

double sgemm(double a, double b, double c, double d, double e, double f, double g, double h, double i, double j) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

struct four SGEMM(double a, double b, double c, double d, double e, double f, double g, double h, double i,
                  double j) {
    return (struct four){{a + b, c + d, e + f + g, h + i + j}};
}

struct five
cgemm(double a, double b, double c, double d, double e, double f, double g, double h, double i, double j) {
    return (struct five){{a + b, c + d, e + f, g + h, i + j}};
}

#ifdef WITH_BLAS
void sgemm_(void) {}
void cgemm_(void) {}
#endif

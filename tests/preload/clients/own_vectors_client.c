// Calls the functions of libraries/own_vectors.c several times, and changes its variables.
#include <stdio.h>

struct Pair {
    float first, second;
};
double ddot(int count, const double* x, const double* y, double scale);
float sdot(float a, float b);
float snrm2(int count, ...);
struct Pair cdotu(float value);
long double dnrm2(long double value);
double within(const double* x);
extern double dasum;
extern int sasum[];
double sum_of_variables(void);

int main(void) {
    const double x[] = {1, 2};
    for (int i = 0; i < 100; ++i) {
        const struct Pair pair = cdotu(1.5F);
        printf("%g %g %g %Lg %g %g %g\n", ddot(2, x, x, 0.5), (double)sdot(3, 4), (double)snrm2(3, 1.0), dnrm2(1.25L),
               (double)pair.first, (double)pair.second, within(x));
    }
    printf("%g %d %g\n", dasum, sasum[3], sum_of_variables());
    dasum = 1;
    sasum[3] = 7;
    printf("%g\n", sum_of_variables());
    return 0;
}

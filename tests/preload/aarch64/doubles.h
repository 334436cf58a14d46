// Functions that share nothing but their names with BLAS. See doubles.c.
#pragma once

struct four {
    double v[4];
};
struct five {
    double v[5];
};

double sgemm(double a, double b, double c, double d, double e, double f, double g, double h, double i, double j);
struct four SGEMM(double a, double b, double c, double d, double e, double f, double g, double h, double i, double j);
struct five cgemm(double a, double b, double c, double d, double e, double f, double g, double h, double i, double j);

// Functions whose names BLAS also uses. See other_sgemm.c.
#pragma once

struct triple {
    double x, y;
    long n;
};

int sgemm(int first, double second, int third);
double SGEMM(struct triple value, double factor);
double cgemm(int count, ...);
double ssymm(float a, float b, float c, float d, float e, float f, float g, float h, float i, float j, double k);
struct triple ssyrk(long n);
long strmm(long a, long b, long c, long d, long e, long f, long g, long h, long i);
float strsm(float x);
const char* CTRMM(const char* text);

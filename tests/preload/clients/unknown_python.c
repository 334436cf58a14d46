/* A program with a Python of an unknown version. Its functions have the right names, but the shim must not rely on
 * them. */
#include <stdio.h>

void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);

const char* Py_GetVersion(void) { return "3.99.0 (main, Jan  1 2040)"; }
void* PyGILState_GetThisThreadState(void) { return (void*)1; }
long PyCode_Type[64], PyUnicode_Type[64], PyBytes_Type[64];

int main(void) {
    const float a[4] = {1, 2, 3, 4}, one = 1, zero = 0;
    float c[4] = {0};
    const int n = 2;
    for (int i = 0; i < 3; ++i) sgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);
    printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
    return 0;
}

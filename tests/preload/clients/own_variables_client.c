// Loads two libraries made from libraries/own_variables.c. Each must see its own variables. Compiled with FUNCTION,
// also calls the function ddot of another library, which is bound only then. Arguments: the two libraries.
#include <dlfcn.h>
#include <stdio.h>

#ifdef FUNCTION
double ddot(double value);
#endif

int main(int count, char** libraries) {
    for (int i = 1; i < count; ++i) {
        void* const library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 2;
        const double* const variable = dlsym(library, "ddot");
        printf("%g\n", *variable);
#ifndef FUNCTION  // otherwise the libraries' references to ddot are bound to the function
        double (*sum)(void) = (double (*)(void))dlsym(library, "sum_of_variables");
        printf("%g\n", sum());
#endif
    }
#ifdef FUNCTION
    printf("%g\n", ddot(1));
#endif
    return 0;
}

// Provides a function that weak_names.c refers to.

void dgemm_64_(void) {}

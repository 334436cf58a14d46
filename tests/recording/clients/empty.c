// A library that nobody needs: one more in the loader's list.
int empty_library(void) { return 0; }

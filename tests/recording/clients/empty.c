// An unused library, which only adds an entry to the loader's list.
int empty_library(void) { return 0; }

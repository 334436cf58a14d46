// Opens a library with many relocations, multiplies, and puts the relocations out of reach. Then closes the library,
// which stays open, and ends. Reading the relocations again ends the program by a signal.
//
//   reads_once LIBRARY [_exit]

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    void* const kept = dlopen(argv[1], RTLD_NOW);
    if (!kept) return 1;
    void (*run)(void);
    long (*hide_relocations)(void);
    *(void**)&run = dlsym(kept, "run");
    *(void**)&hide_relocations = dlsym(kept, "hide_relocations");
    run();
    const long pages = hide_relocations();
    printf("%s hidden\n", pages >= 8 ? "relocations" : "nothing");
    fflush(stdout);
    if (dlclose(dlopen(argv[1], RTLD_NOW)) != 0) return 1;
    if (argc > 2 && strcmp(argv[2], "_exit") == 0) _exit(0);
    return 0;
}

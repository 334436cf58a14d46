// A library that calls a program's function, and so adds a frame to the stack. Built as two libraries that differ
// only in their names.

void relay(void (*function)(void*), void* argument);

void relay(void (*function)(void*), void* argument) {
    char room[64 + sizeof(int)];
    __asm__ volatile("" : : "r"(room) : "memory");
    function(argument);
    __asm__ volatile("" : : : "memory");
}

// A library that takes long to unload: it has a megabyte of pointers, which the loader relocates and which therefore
// become private pages. They lie before the dynamic section.
static const char text[] = "";
__attribute__((used)) const char* const large_library_pointers[1 << 17] = {[0 ...(1 << 17) - 1] = text};

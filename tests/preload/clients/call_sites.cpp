// Calls a library's products from many call sites:
//
//   call_sites threads COUNT LIBRARY       COUNT threads call the library's products, all starting at once
//   call_sites reload ROUNDS LIBRARY...    loads, calls and unloads the libraries in turn. Prints how many different
//                                          addresses they had, and by how many KiB the process grew

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace {

using Function = void();

Function* products_of(void* library) {
    if (library == nullptr) {
        std::printf("%s\n", dlerror());
        std::exit(1);
    }
    return reinterpret_cast<Function*>(dlsym(library, "multiply_all"));
}

/// Returns the process's private memory in KiB; -1: unknown.
long anonymous_kib() {
    std::FILE* file = std::fopen("/proc/self/status", "r");
    char line[256];
    long kib = -1;
    while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr)
        if (std::sscanf(line, "RssAnon: %ld", &kib) == 1) break;
    if (file != nullptr) std::fclose(file);
    return kib;
}

void call_on_threads(int count, const char* path) {
    Function* const products = products_of(dlopen(path, RTLD_NOW));
    std::atomic<int> waiting{count};
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&] {
            --waiting;
            while (waiting > 0) continue;
            products();
        });
    for (std::thread& thread : threads) thread.join();
}

void reload(int rounds, char** begin, char** end) {
    std::set<void*> addresses;
    long before = 0;
    for (int round = 0; round < rounds; ++round) {
        for (char** path = begin; path != end; ++path) {
            void* const library = dlopen(*path, RTLD_NOW);
            Function* const products = products_of(library);
            products();
            addresses.insert(reinterpret_cast<void*>(products));
            dlclose(library);
        }
        if (round == rounds / 4) before = anonymous_kib();
    }
    std::printf("%zu addresses, grew by %ld KiB\n", addresses.size(), anonymous_kib() - before);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    if (std::strcmp(argv[1], "threads") == 0)
        call_on_threads(std::atoi(argv[2]), argv[3]);
    else
        reload(std::atoi(argv[2]), argv + 3, argv + argc);
    return 0;
}

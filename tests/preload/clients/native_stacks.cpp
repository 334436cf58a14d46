// Multiplies from stacks of many kinds. Each product has a size of its own, and a line on stdout: the size, and the
// callers of the multiplying function by backtrace(3), as object and offset.
//
//   native_stacks kinds [RELAY]             each kind once; RELAY: a library in between
//   native_stacks threads COUNT ROUNDS      COUNT threads multiply ROUNDS times, each at another depth
//   native_stacks reload FIRST SECOND ROUNDS
//                                           two libraries in turn, at one address; prints how often it was the same
//   native_stacks deep DEPTH                recursion of that depth
//   native_stacks quiet RELAY [HOW]         a product through a library, without backtrace(3); HOW: the library's
//                                           tables are first locked or unmapped

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*,
                       const int*, const float*, const int*, const float*, float*, const int*);

namespace {

using Relay = void (*)(void (*)(void*), void*);

constexpr int largest = 64;
bool says_stacks = true;

std::string location_of(void* address) {
    Dl_info info;
    link_map* map = nullptr;
    if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) return "-";
    char program[4096] = {};
    if (map->l_name[0] == 0 && readlink("/proc/self/exe", program, sizeof program - 1) < 0) return "-";
    char offset[32];
    std::snprintf(offset, sizeof offset, "+%#lx", static_cast<char*>(address) - reinterpret_cast<char*>(map->l_addr));
    return (map->l_name[0] == 0 ? program : map->l_name) + std::string(offset);
}

/// Multiplies, and then prints the stack without the frame of this function.
[[gnu::noinline]] void multiply(void* argument) {
    const int m = *static_cast<int*>(argument), n = 2;
    float a[largest * 2] = {1}, c[largest * 2], one = 1, zero = 0;
    sgemm_("N", "N", &m, &n, &n, &one, a, &m, a, &n, &zero, c, &m);
    if (!says_stacks) return;
    void* addresses[128];
    const int count = backtrace(addresses, 128);
    std::string line = std::to_string(m);
    for (int i = 1; i < count; ++i) line += "\t" + location_of(addresses[i]);
    std::puts(line.c_str());
}

[[gnu::noinline]] void multiply_from_a_large_frame(std::size_t size, int m) {
    auto* room = static_cast<volatile char*>(__builtin_alloca(size));
    room[0] = 1;
    room[size - 1] = 1;
    multiply(&m);
    __asm__ volatile("" : : "r"(room) : "memory");
}

struct alignas(256) Wide {
    char bytes[256];
};
[[gnu::noinline]] void multiply_from_an_aligned_frame(std::size_t size, int m) {
    Wide wide;
    auto* room = static_cast<volatile char*>(__builtin_alloca(size));
    __asm__ volatile("" : : "r"(&wide), "r"(room) : "memory");
    multiply(&m);
    __asm__ volatile("" : : "r"(&wide), "r"(room) : "memory");
}

[[gnu::noinline]] void multiply_at_depth(int depth, int m) {
    if (depth > 1)
        multiply_at_depth(depth - 1, m);
    else
        multiply(&m);
    __asm__ volatile("" : : : "memory");
}

int compare(const void* left, const void*) {
    int m = *static_cast<const int*>(left);
    multiply(&m);
    return 0;
}

int size_in_handler = 0;
void handle(int) { multiply(&size_in_handler); }
void raise_with(int flags, int m) {
    struct sigaction action = {};
    action.sa_handler = handle;
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, nullptr);
    size_in_handler = m;
    raise(SIGUSR1);
}

void signals() {
    raise_with(0, 11);
    stack_t stack = {};
    stack.ss_size = 1 << 16;
    stack.ss_sp = std::malloc(stack.ss_size);
    sigaltstack(&stack, nullptr);
    raise_with(SA_ONSTACK, 12);
}

void exceptions() {
    try {
        throw std::runtime_error("caught");
    } catch (const std::exception&) {
        multiply_at_depth(2, 21);
    }
    multiply_at_depth(1, 22);
}

ucontext_t here, other;
void run_apart() { multiply_at_depth(2, 31); }
void contexts() {
    getcontext(&other);
    other.uc_stack.ss_size = 1 << 17;
    other.uc_stack.ss_sp = std::malloc(other.uc_stack.ss_size);
    other.uc_link = &here;
    makecontext(&other, run_apart, 0);
    swapcontext(&here, &other);
}

/// Calls multiply() from code that is generated at run time.
void made_code(int m) {
#if defined(__x86_64__)
    const unsigned char code[] = {0x48, 0x83, 0xec, 8,    0x48, 0x89, 0xf8, 0x48, 0x89,
                                  0xf7, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8,    0xc3};
#else
    const unsigned code[] = {0xa9bf7bfd, 0x910003fd, 0xaa0003e8, 0xaa0103e0, 0xd63f0100, 0xa8c17bfd, 0xd65f03c0};
#endif
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(page, code, sizeof code);
    __builtin___clear_cache(static_cast<char*>(page), static_cast<char*>(page) + sizeof code);
    reinterpret_cast<void (*)(void (*)(void*), void*)>(page)(multiply, &m);
    munmap(page, 4096);
}

int kinds(const char* library) {
    multiply_at_depth(1, 1);
    multiply_at_depth(5, 2);
    multiply_from_a_large_frame(100, 3);
    multiply_from_a_large_frame(3000000, 4);
    multiply_from_an_aligned_frame(100, 5);
    int sizes[] = {6, 6};
    std::qsort(sizes, 2, sizeof(int), compare);
    std::thread([] { multiply_at_depth(3, 7); }).join();
    signals();
    exceptions();
    contexts();
    made_code(41);
    if (library == nullptr) return 0;
    int m = 51;
    reinterpret_cast<Relay>(dlsym(dlopen(library, RTLD_NOW), "relay"))(multiply, &m);
    return 0;
}

int threads(int count, int rounds) {
    says_stacks = false;
    std::vector<std::thread> running;
    for (int i = 0; i < count; ++i)
        running.emplace_back([i, rounds] {
            for (int round = 0; round < rounds; ++round) multiply_at_depth(i + 1 + round % 2, i + 1);
        });
    for (auto& thread : running) thread.join();
    return 0;
}

int reload(const char* first, const char* second, int rounds) {
    says_stacks = false;
    std::set<void*> addresses;
    int m = 1;
    for (int i = 0; i < 2 * rounds; ++i) {
        void* library = dlopen(i % 2 == 0 ? first : second, RTLD_NOW);
        void* relay = dlsym(library, "relay");
        addresses.insert(relay);
        reinterpret_cast<Relay>(relay)(multiply, &m);
        dlclose(library);
    }
    std::printf("%zu\n", addresses.size());
    return 0;
}

/// Makes the page inaccessible on which the tables of a library begin.
void take_tables(void* library, const std::string& how) {
    link_map* map = nullptr;
    dlinfo(library, RTLD_DI_LINKMAP, &map);
    const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(map->l_addr);
    const auto* parts = reinterpret_cast<const ElfW(Phdr)*>(map->l_addr + header->e_phoff);
    for (int i = 0; i < header->e_phnum; ++i) {
        if (parts[i].p_type != PT_GNU_EH_FRAME) continue;
        constexpr std::uintptr_t page_size = 4096;
        auto* const page = reinterpret_cast<void*>((map->l_addr + parts[i].p_vaddr) / page_size * page_size);
        if (how == "locked") mprotect(page, page_size, PROT_NONE);
        if (how == "unmapped") munmap(page, page_size);
        return;
    }
}

int quiet(const char* path, const std::string& how) {
    says_stacks = false;
    int m = 1;
    void* const library = dlopen(path, RTLD_NOW);
    const auto relay = reinterpret_cast<Relay>(dlsym(library, "relay"));
    if (!how.empty()) take_tables(library, how);
    relay(multiply, &m);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "kinds") return kinds(argc > 2 ? argv[2] : nullptr);
    if (what == "threads" && argc > 3) return threads(std::atoi(argv[2]), std::atoi(argv[3]));
    if (what == "reload" && argc > 4) return reload(argv[2], argv[3], std::atoi(argv[4]));
    if (what == "deep" && argc > 2) return multiply_at_depth(std::atoi(argv[2]), 1), 0;
    if (what == "quiet" && argc > 2) return quiet(argv[2], argc > 3 ? argv[3] : "");
    return 2;
}

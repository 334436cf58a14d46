// Measures the cost that the shim adds to a forwarded call. One process makes the same product directly in the
// library and through the entry point, in alternating rounds. Then it times the shortest product (n = 0, BLAS's quick
// return) in three ways: from one call site; from ten call sites in turn, whose return addresses agree in many bits;
// and on one thread and on two at once, which shows writes to shared cache lines. Last, it compares a product outside
// every scope with the same product in a scope that has a label only.
//
// Without settings, nothing is governed and nothing is logged. FP32_MATMUL_LOG=NAME.fp32rec, with
// FP32_MATMUL_LOG_LEVEL=summary or calls, measures the cost of a recording. At the level `calls`, the recording grows
// by 16 bytes a call, which is 300 MB a second: put the file on tmpfs, or use a policy with on_full = "overwrite";
// otherwise the disk is measured.
//
// Run under LD_PRELOAD=build/lib/libfp32shim.so. `direct` finds the function's address in the library's own symbol
// table, and so bypasses the shim; `through` is the linked symbol.
//
//     OPENBLAS_NUM_THREADS=1 LD_PRELOAD=build/lib/libfp32shim.so build/bin/call_overhead [rounds]
//
// `call_overhead samples ROUNDS CALLS` prints the times of each round instead: function, size, direct, through.
// bench/performance.py reads them, also under other preloaded libraries, and under Python, which loads this program
// as a library.
#include <dlfcn.h>
#include <link.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

extern "C" {
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);
void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
}

namespace {

using Fortran = decltype(&sgemm_);
using Cblas = decltype(&cblas_sgemm);

/// Returns the library that this program is linked with, or one that is loaded in its place. Other preloaded
/// libraries may have the same functions, but not the same name.
link_map* library() {
    if (void* linked = dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_NOLOAD)) return static_cast<link_map*>(linked);
    Dl_info info;
    link_map* map = nullptr;
    void* neighbour = dlsym(RTLD_DEFAULT, "saxpy_");
    if (neighbour != nullptr) dladdr1(neighbour, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP);
    return map;
}

/// Returns the function inside its library. dlsym would return an entry point of the shim. So the library's own
/// symbol table is read.
void* direct(const char* name) {
    const link_map* map = library();
    if (map == nullptr) return nullptr;
    const ElfW(Sym)* symbols = nullptr;
    const char* strings = nullptr;
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
        if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    }
    // In every library linked by GNU ld, the string table follows the symbol table and so marks its end.
    for (const ElfW(Sym)* symbol = symbols; reinterpret_cast<const char*>(symbol) < strings; ++symbol)
        if (symbol->st_value != 0 && std::strcmp(strings + symbol->st_name, name) == 0)
            return reinterpret_cast<void*>(map->l_addr + symbol->st_value);
    return nullptr;
}

struct Product {
    int n;
    std::vector<float> a, b, c;
    explicit Product(int size)
        : n(size),
          a(static_cast<std::size_t>(std::max(1, size * size)), 1.0F),
          b(a.size(), 1.0F),
          c(a.size(), 1.0F) {}
};

/// Returns the processor time of this thread. Other programs on the machine do not affect it.
double thread_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double fortran_ns(Fortran function, Product& p, int calls) {
    const float alpha = 1, beta = 0;
    const int ld = std::max(1, p.n);
    const double begin = thread_ns();
    for (int i = 0; i < calls; ++i)
        function("N", "N", &p.n, &p.n, &p.n, &alpha, p.a.data(), &ld, p.b.data(), &ld, &beta, p.c.data(), &ld);
    return (thread_ns() - begin) / calls;
}

double cblas_ns(Cblas function, Product& p, int calls) {
    const int ld = std::max(1, p.n);
    const double begin = thread_ns();
    for (int i = 0; i < calls; ++i)
        function(102, 111, 111, p.n, p.n, p.n, 1, p.a.data(), ld, p.b.data(), ld, 0, p.c.data(), ld);
    return (thread_ns() - begin) / calls;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

template <class Time, class Function>
void compare(const char* name, int n, int rounds, Time time, Function direct_function, Function through) {
    Product product(n);
    const int calls = n == 0 ? 1'000'000 : n == 1 ? 500'000 : 300'000;
    std::vector<double> direct_times, through_times, differences;
    for (int round = 0; round < rounds; ++round) {
        direct_times.push_back(time(direct_function, product, calls));
        through_times.push_back(time(through, product, calls));
        differences.push_back(through_times.back() - direct_times.back());
    }
    std::printf("%-12s %dx%dx%d  direct %7.2f ns   shim %7.2f ns   difference %+6.2f ns (medians of %d)\n", name, n,
                n, n, median(direct_times), median(through_times), median(differences), rounds);
}

template <class Time, class Function>
void print_samples(const char* name, int n, int rounds, int calls, Time time, Function direct_function,
                   Function through) {
    Product product(n);
    time(through, product, 1000);
    for (int round = 0; round < rounds; ++round) {
        const double own = time(direct_function, product, calls);
        std::printf("%s %d %.3f %.3f\n", name, n, own, time(through, product, calls));
    }
}

/// Contains one call site. Each number has its own copy of this function, at the same offset in a separate page.
template <int number>
[[gnu::noinline, gnu::aligned(4096)]] void call_from(Fortran function, const Product& p) {
    __asm__ volatile("# call site %c0" : : "i"(number));  // keeps the compiler from merging the copies
    const float alpha = 1, beta = 0;
    const int ld = 1;
    function("N", "N", &p.n, &p.n, &p.n, &alpha, p.a.data(), &ld, p.b.data(), &ld, &beta,
             const_cast<float*>(p.c.data()), &ld);
}

constexpr std::size_t site_count = 10;
using Sites = std::array<void (*)(Fortran, const Product&), site_count>;
template <int... numbers>
constexpr Sites sites_of(std::integer_sequence<int, numbers...>) {
    return {&call_from<numbers>...};
}

double sites_ns(const Sites& sites, Fortran function, const Product& product) {
    constexpr int rounds = 100'000;
    const double begin = thread_ns();
    for (int i = 0; i < rounds; ++i)
        for (const auto site : sites) site(function, product);
    return (thread_ns() - begin) / (rounds * static_cast<double>(site_count));
}

void compare_sites(int rounds, Fortran direct_function, Fortran through) {
    const Product product(0);
    const Sites ten = sites_of(std::make_integer_sequence<int, site_count>{});
    Sites one;
    one.fill(ten[0]);
    std::vector<double> of_one, of_ten;
    for (int round = 0; round < rounds; ++round) {
        of_one.push_back(sites_ns(one, through, product) - sites_ns(one, direct_function, product));
        of_ten.push_back(sites_ns(ten, through, product) - sites_ns(ten, direct_function, product));
    }
    std::printf("sgemm_       0x0x0  difference from one call site %+6.2f ns, from ten %+6.2f ns (medians of %d)\n",
                median(of_one), median(of_ten), rounds);
}

/// Returns the mean time of a call over all threads, which run at once.
template <class Time, class Function>
double ns_of_threads(int threads, Time time, Function function) {
    std::vector<double> times(static_cast<std::size_t>(threads));
    std::barrier start(threads);
    std::vector<std::thread> running;
    for (double& result : times)
        running.emplace_back([&] {
            Product product(0);
            time(function, product, 1000);
            start.arrive_and_wait();
            result = time(function, product, 500'000);
        });
    for (std::thread& thread : running) thread.join();
    double sum = 0;
    for (const double result : times) sum += result;
    return sum / threads;
}

template <class Time, class Function>
void compare_threads(const char* name, int rounds, Time time, Function direct_function, Function through) {
    std::vector<double> direct_ratios, through_ratios, one, two;
    for (int round = 0; round < rounds; ++round) {
        const double direct_one = ns_of_threads(1, time, direct_function);
        const double direct_two = ns_of_threads(2, time, direct_function);
        one.push_back(ns_of_threads(1, time, through));
        two.push_back(ns_of_threads(2, time, through));
        direct_ratios.push_back(direct_two / direct_one);
        through_ratios.push_back(two.back() / one.back());
    }
    std::printf(
        "%-12s 0x0x0  shim, one thread %6.2f ns, two at once %6.2f ns: %.2f times one; direct %.2f times one\n", name,
        median(one), median(two), median(through_ratios), median(direct_ratios));
}

void compare_scopes(int rounds, Fortran through) {
    const auto push =
        reinterpret_cast<int (*)(const char*, const char*, const char*)>(dlsym(RTLD_DEFAULT, "fp32shim_push_scope"));
    const auto pop = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "fp32shim_pop_scope"));
    if (push == nullptr || pop == nullptr) return;
    constexpr int calls = 500'000;
    Product product(0);
    std::vector<double> outside, inside, differences, pushes;
    for (int round = 0; round < rounds; ++round) {
        outside.push_back(fortran_ns(through, product, calls));
        push("encoder.layers.3", nullptr, nullptr);
        inside.push_back(fortran_ns(through, product, calls));
        const double begin = thread_ns();
        for (int i = 0; i < calls; ++i) {
            push("self_attn", nullptr, nullptr);
            pop();
        }
        pushes.push_back((thread_ns() - begin) / calls);
        pop();
        differences.push_back(inside.back() - outside.back());
    }
    std::printf(
        "sgemm_       0x0x0  outside every scope %6.2f ns, in one with a label %6.2f ns: difference %+6.2f ns; push "
        "and "
        "pop %6.2f ns (medians of %d)\n",
        median(outside), median(inside), median(differences), median(pushes), rounds);
}

}  // namespace

int main(int count, char** arguments) {
    const bool samples = count > 3 && std::strcmp(arguments[1], "samples") == 0;
    const int rounds = samples ? std::atoi(arguments[2]) : count > 1 ? std::max(3, std::atoi(arguments[1])) : 15;
    const auto direct_fortran = reinterpret_cast<Fortran>(direct("sgemm_"));
    const auto direct_cblas = reinterpret_cast<Cblas>(direct("cblas_sgemm"));
    if (direct_fortran == nullptr || direct_cblas == nullptr) {
        std::fprintf(stderr, "call_overhead: no BLAS with sgemm_ and cblas_sgemm is loaded\n");
        return 1;
    }
    if (samples) {
        const int calls = std::atoi(arguments[3]);
        for (int n : {0, 8}) print_samples("sgemm_", n, rounds, calls, fortran_ns, direct_fortran, &sgemm_);
        for (int n : {0, 8}) print_samples("cblas_sgemm", n, rounds, calls, cblas_ns, direct_cblas, &cblas_sgemm);
        std::fflush(stdout);
        return 0;
    }
    if (reinterpret_cast<void*>(direct_fortran) == reinterpret_cast<void*>(&sgemm_))
        std::fprintf(stderr, "call_overhead: the shim is not preloaded; both columns are direct calls\n");
    for (int n : {0, 1, 8}) {
        compare("sgemm_", n, rounds, fortran_ns, direct_fortran, &sgemm_);
        compare("cblas_sgemm", n, rounds, cblas_ns, direct_cblas, &cblas_sgemm);
    }
    compare_sites(rounds, direct_fortran, &sgemm_);
    compare_threads("sgemm_", rounds, fortran_ns, direct_fortran, &sgemm_);
    compare_threads("cblas_sgemm", rounds, cblas_ns, direct_cblas, &cblas_sgemm);
    compare_scopes(rounds, &sgemm_);
}

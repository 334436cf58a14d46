// Repeatedly opens, runs and closes one plugin, while threads multiply through another.
//
//   unloads STAYING GOING ROUNDS

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using Answer = float();

/// Returns the plugin's function answer(), which returns the result of one product.
Answer* answer_of(void* plugin) {
    Answer* answer;
    *reinterpret_cast<void**>(&answer) = dlsym(plugin, "answer");
    return answer;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    Answer* staying = answer_of(dlopen(argv[1], RTLD_NOW | RTLD_LOCAL));
    const float expected = staying();
    std::atomic<bool> stop{false};
    std::atomic<long> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&] {
            while (!stop) wrong += staying() != expected;
        });
    }
    long going_wrong = 0;
    for (int i = 0; i < std::atoi(argv[3]); ++i) {
        void* going = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
        if (going == nullptr) return 1;
        going_wrong += answer_of(going)() == expected;
        dlclose(going);
    }
    stop = true;
    for (auto& thread : threads) thread.join();
    std::printf("%ld and %ld wrong\n", wrong.load(), going_wrong);
    return 0;
}

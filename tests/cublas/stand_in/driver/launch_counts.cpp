#include "driver/launch_counts.hpp"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

namespace stand_in {
namespace {

struct Table {
    std::mutex mutex;
    std::map<std::string, LaunchCounts> counts;
};

// Never destroyed, since programs launch from their own destructors.
Table& table() {
    static Table* const instance = [] {
        // A child counts only its own launches.
        pthread_atfork(nullptr, nullptr, [] {
            for (auto& [name, counts] : table().counts) counts.direct = counts.replayed = 0;
        });
        return new Table;
    }();
    return *instance;
}

__attribute__((destructor)) void write_counts() {
    const char* const path = std::getenv("STAND_IN_LAUNCHES");
    if (path == nullptr) return;
    std::lock_guard lock(table().mutex);
    std::FILE* const file = table().counts.empty() ? nullptr : std::fopen(path, "a");
    if (file == nullptr) return;
    for (const auto& [name, counts] : table().counts)
        if (counts.direct + counts.replayed > 0)
            std::fprintf(file, "%llu %llu %s\n", static_cast<unsigned long long>(counts.direct.load()),
                         static_cast<unsigned long long>(counts.replayed.load()), name.c_str());
    std::fclose(file);
}

}  // namespace

LaunchCounts* launch_counts(const std::string& name) {
    std::lock_guard lock(table().mutex);
    return &table().counts[name];
}

}  // namespace stand_in

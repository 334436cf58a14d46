#include "cli/run/process_environment.hpp"

#include <unistd.h>

#include <algorithm>

namespace fp32shim::cli {
namespace {

bool is_entry_of(std::string_view name, std::string_view entry) {
    return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
}

}  // namespace

std::vector<std::string> split_list(std::string_view list, std::string_view separators) {
    std::vector<std::string> entries;
    for (std::size_t begin = 0; begin < list.size();) {
        const std::size_t end = std::min(list.find_first_of(separators, begin), list.size());
        if (end > begin) entries.emplace_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    return entries;
}

ProcessEnvironment ProcessEnvironment::of_this_process() {
    ProcessEnvironment environment;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
        environment.entries_.emplace_back(*entry);
    return environment;
}

std::string ProcessEnvironment::get(std::string_view name) const {
    const auto entry =
        std::ranges::find_if(entries_, [&](const std::string& candidate) { return is_entry_of(name, candidate); });
    return entry == entries_.end() ? std::string() : entry->substr(name.size() + 1);
}

void ProcessEnvironment::set(std::string_view name, std::string_view value) {
    std::erase_if(entries_, [&](const std::string& entry) { return is_entry_of(name, entry); });
    entries_.push_back(std::string(name) + '=' + std::string(value));
}

}  // namespace fp32shim::cli

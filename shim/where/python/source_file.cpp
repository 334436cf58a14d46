#include "shim/where/python/source_file.hpp"

#include <algorithm>
#include <atomic>

#include "shim/memory/arena.hpp"
#include "shim/settings/settings.hpp"
#include "system/hash.hpp"
#include "system/inline_text.hpp"
#include "system/io_error.hpp"
#include "system/line_writer.hpp"
#include "system/mapped_memory.hpp"
#include "system/raw_file.hpp"
#include "system/small_files.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim::where {
namespace {

constexpr std::size_t largest_file = 4 << 20;
constexpr std::uint32_t max_files = 256;

constinit std::atomic<const SourceFile*> files{nullptr};
constinit std::atomic<std::uint32_t> file_count{0};

const SourceFile* find(std::uint64_t hash, std::string_view path) {
    const SourceFile* file = files.load(std::memory_order_acquire);
    while (file != nullptr && (file->hash != hash || !system::equal(file->path, path))) file = file->next;
    return file;
}

void warn_unread_source(std::string_view path, std::string_view why) {
    static constinit system::OncePerProcess said;
    if (!said.is_first_call()) return;
    char buffer[768];
    system::LineWriter line(buffer);
    line.text("rules by text: ").escaped(path, 400).texts(": ", why);
    line.text("; rules use its line numbers instead, if they name any");
    system::stderr_line(line.view());
}

/// Returns the offset of the end of each line, or an empty span if there is no memory.
std::span<const std::uint32_t> ends_of_lines(std::string_view text) {
    const auto feeds = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    MappedMemory memory((feeds + 1) * sizeof(std::uint32_t));
    if (memory.bytes().empty()) return {};
    auto* const ends = reinterpret_cast<std::uint32_t*>(memory.bytes().data());
    std::size_t count = 0;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '\n') ends[count++] = static_cast<std::uint32_t>(i);
    ends[count++] = static_cast<std::uint32_t>(text.size());
    memory.keep_mapped();
    return {ends, count};
}

/// Reads the file at `file.path` into `file`. Returns the reason if the file cannot be used, otherwise an empty text.
std::string_view read_into(SourceFile& file) {
    const system::RawFile opened(file.path.data());  // arena_copy() has added a NUL to the path
    struct stat status {};
    if (!opened.is_open()) return system::describe_io_error(opened.error()).meaning;
    if (!opened.is_regular(status)) return "not a regular file";
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size == 0 || size > largest_file) return "an empty file, or larger than 4 MiB";
    const Settings* const in_force = known_settings();
    const std::int64_t changed_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    if (in_force != nullptr && changed_ns > in_force->facts.start_ns) return "changed while the program runs";
    MappedMemory memory(size);
    if (memory.bytes().empty()) return "out of memory";
    const std::size_t got = opened.read(0, memory.bytes().data(), size);
    file.ends = ends_of_lines({memory.bytes().data(), got});
    if (file.ends.empty()) return "out of memory";
    file.bytes = memory.bytes().data();
    memory.keep_mapped();
    return {};
}

}  // namespace

std::optional<std::string_view> SourceFile::line(int number) const {
    if (number < 1 || static_cast<std::size_t>(number) > ends.size()) return std::nullopt;
    const auto index = static_cast<std::size_t>(number) - 1;
    const std::size_t begin = index == 0 ? 0 : ends[index - 1] + 1;
    return system::trimmed({bytes + begin, ends[index] - begin}, " \t\r\f");
}

const SourceFile* source_file(std::string_view path) {
    const std::uint64_t hash = system::Hash().add(path).value();
    const SourceFile* known = find(hash, path);
    if (known == nullptr) {
        if (file_count.load(std::memory_order_relaxed) >= max_files) {
            warn_unread_source(path, "too many files for rules by text");
            return nullptr;
        }
        file_count.fetch_add(1, std::memory_order_relaxed);
        auto* fresh =
            arena_new<SourceFile>(hash, arena_copy(path), nullptr, std::span<const std::uint32_t>(), nullptr);
        const std::string_view why = read_into(*fresh);
        if (!why.empty()) warn_unread_source(path, why);
        // If two threads add one file at the same time, the file is stored twice, which does no harm.
        push_front(files, fresh);
        known = fresh;
    }
    return known->bytes == nullptr ? nullptr : known;
}

}  // namespace fp32shim::where

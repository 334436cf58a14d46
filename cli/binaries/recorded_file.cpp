#include "cli/binaries/recorded_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "cli/binaries/elf_file.hpp"
#include "record/format/file_state.hpp"
#include "record/format/format.hpp"

namespace fp32shim::cli {
namespace {

using record::format::FileState;

/// Returns the last change of a file. Programs that install files set the time of modification to an older one, but
/// none can set the time of the change.
std::int64_t changed_ns(const struct stat& status) {
    const auto ns = [](const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
    return std::max(ns(status.st_ctim), ns(status.st_mtim));
}

}  // namespace

std::string why_file_may_differ(const record::RecordedObject& object, std::vector<std::uint8_t> build_id) {
    build_id.resize(std::min(build_id.size(), record::format::build_id_limit));
    struct stat status {};
    if (stat(object.path.c_str(), &status) != 0) return "does not exist here any more";
    FileState now;
    now.set_from_stat(status);
    if (const auto headers = read_program_headers(object.path); !headers.empty())
        now.layout = record::format::program_headers_hash(headers);
    const FileState& then = object.file;
    if (build_id != object.build_id || then.size.differs_from(now.size) || then.layout.differs_from(now.layout))
        return "is a different file now";
    if (!build_id.empty()) return {};
    // Nothing in the file tells two builds apart, so only the same inode with the same times shows the same file.
    if (then.change.is_known() ? then.change == now.change : changed_ns(status) < object.first_seen_ns) return {};
    return "has changed or was copied since, and has no build id that would show it to be the same";
}

std::string plain_path(const std::string& path) {
    const std::string plain = std::filesystem::path(path).lexically_normal().string();
    std::error_code error;
    return plain != path && std::filesystem::equivalent(plain, path, error) ? plain : path;
}

}  // namespace fp32shim::cli

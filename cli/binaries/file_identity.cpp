#include "cli/binaries/file_identity.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cli/binaries/elf_file.hpp"
#include "policy/sha256.hpp"
#include "record/format/file_state.hpp"
#include "record/format/format.hpp"
#include "system/raw_file.hpp"

namespace fp32shim::cli {
namespace {

using record::format::FileState;

/// Returns the time of a file's last change, in nanoseconds since 1970. Programs that install files may set the time
/// of modification (mtime) to an earlier one, but no program can set the time of the status change (ctime).
std::int64_t changed_ns(const struct stat& status) {
    const auto ns = [](const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
    return std::max(ns(status.st_ctim), ns(status.st_mtim));
}

}  // namespace

std::string sha256_of_file(const std::string& path) {
    constexpr off_t large = off_t{1} << 31, block = 512;
    const system::RawFile file(path.c_str());
    struct stat status {};
    if (!file.is_regular(status)) return {};
    if (status.st_size > large && status.st_blocks * block < status.st_size / 2) return {};
    policy::Sha256 sum;
    std::string piece(std::size_t{1} << 20, '\0');
    const auto size = static_cast<std::uint64_t>(status.st_size);
    for (std::uint64_t at = 0; at < size;) {
        const std::size_t got = file.read(at, piece.data(), std::min<std::uint64_t>(piece.size(), size - at));
        if (got == 0) return {};
        sum.add({piece.data(), got});
        at += got;
    }
    return sum.hex_digest();
}

std::string checksum_or_mtime(const std::string& path) {
    constexpr off_t most_read = off_t{256} << 20;
    struct stat status {};
    if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    if (status.st_size <= most_read) return sha256_of_file(path);
    if (access(path.c_str(), R_OK) != 0) return {};
    return fmt::format("{} bytes, {}.{:09}", status.st_size, std::int64_t{status.st_mtim.tv_sec},
                       status.st_mtim.tv_nsec);
}

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
    // Without a build id, the file is certainly the same only if its inode and times are the same or, if these were
    // not recorded, if it last changed before the process first saw it.
    if (then.change.is_known() ? then.change == now.change : changed_ns(status) < object.first_seen_ns) return {};
    return "has changed or was copied since, and has no build id that would show it to be the same";
}

std::string normalized_path(const std::string& path) {
    const std::string plain = std::filesystem::path(path).lexically_normal().string();
    std::error_code error;
    return plain != path && std::filesystem::equivalent(plain, path, error) ? plain : path;
}

}  // namespace fp32shim::cli

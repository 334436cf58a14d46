#include "cli/binaries/recorded_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "record/format/format.hpp"

namespace fp32shim::cli {
namespace {

std::int64_t modified_ns(const std::string& path) {
    struct stat facts = {};
    if (stat(path.c_str(), &facts) != 0) return INT64_MAX;
    return std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
}

}  // namespace

std::string why_another_file(const record::RecordedObject& object, std::vector<std::uint8_t> build_id) {
    build_id.resize(std::min(build_id.size(), record::format::build_id_limit));
    if (build_id != object.build_id) return "is a different file now";
    // Without a build id, a file that is older than the recording counts as unchanged.
    if (build_id.empty() && modified_ns(object.path) >= object.first_seen_ns) return "has changed since";
    return {};
}

std::string plain_path(const std::string& path) {
    const std::string plain = std::filesystem::path(path).lexically_normal().string();
    std::error_code error;
    return plain != path && std::filesystem::equivalent(plain, path, error) ? plain : path;
}

}  // namespace fp32shim::cli

#include "cli/binaries/file_hash.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "policy/sha256.hpp"
#include "system/raw_file.hpp"

namespace fp32shim::cli {

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

std::string version_of_file(const std::string& path) {
    constexpr off_t most_read = off_t{256} << 20;
    struct stat status {};
    if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    if (status.st_size <= most_read) return sha256_of_file(path);
    if (access(path.c_str(), R_OK) != 0) return {};
    return fmt::format("{} bytes, {}.{:09}", status.st_size, std::int64_t{status.st_mtim.tv_sec},
                       status.st_mtim.tv_nsec);
}

}  // namespace fp32shim::cli

// Facts by which a reader can tell if a file is still the file that a process had loaded.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "system/hash.hpp"

namespace fp32shim::record::format {

/// A short hash of one fact about a file. All bytes are 0 if the fact is not known.
template <std::size_t Size>
struct ShortHash {
    std::uint8_t bytes[Size] = {};

    ShortHash() = default;
    /// Makes the short hash from `hash`, a hash of the fact.
    explicit ShortHash(const system::Hash& hash) {
        std::uint64_t left = system::fold_high_half(hash.value());
        for (std::uint8_t& byte : bytes) {
            byte = static_cast<std::uint8_t>(left);
            left >>= 8;
        }
        if (!is_known()) bytes[0] = 1;
    }
    bool is_known() const {
        for (const std::uint8_t byte : bytes)
            if (byte != 0) return true;
        return false;
    }
    /// Returns true if this fact and the fact of `other` are known and differ.
    bool differs_from(const ShortHash& other) const { return is_known() && other.is_known() && !(*this == other); }
    bool operator==(const ShortHash&) const = default;
    auto operator<=>(const ShortHash&) const = default;
};

/// Hashes of facts about a file. They are short, because they are only compared for equality.
struct FileState {
    ShortHash<3> change;  ///< hash of the inode and the times of the last change and modification
    ShortHash<2> size;
    ShortHash<2> layout;  ///< hash of the program headers (program_headers_hash()), which a process can read in its
                          ///< own memory

    auto operator<=>(const FileState&) const = default;

    /// Sets `change` and `size` from what stat() returned for the file.
    void set_from_stat(const struct stat& status) {
        const auto add = [](system::Hash& hash, const timespec& time) {
            hash.add(static_cast<std::uint64_t>(time.tv_sec)).add(static_cast<std::uint64_t>(time.tv_nsec));
        };
        system::Hash hash;
        hash.add(status.st_ino);
        add(hash, status.st_mtim);
        add(hash, status.st_ctim);
        change = ShortHash<3>(hash);
        size = ShortHash<2>(system::Hash().add(static_cast<std::uint64_t>(status.st_size)));
    }
};
static_assert(sizeof(FileState) == 7);

/// Returns the hash of a file's program headers. It tells most builds of a library apart, because the offsets and
/// sizes in the headers differ.
inline ShortHash<2> program_headers_hash(std::span<const std::byte> headers) {
    if (headers.empty()) return {};
    return ShortHash<2>(
        system::Hash().add(std::string_view(reinterpret_cast<const char*>(headers.data()), headers.size())));
}

}  // namespace fp32shim::record::format

#include "cli/trials/inflate.hpp"

#include <dlfcn.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

namespace fp32shim::cli {
namespace {

/// Functions of zlib under their own names, from the library that programs use.
struct Zlib {
    decltype(&::inflateInit2_) inflateInit2_ = nullptr;
    decltype(&::inflate) inflate = nullptr;
    decltype(&::inflateEnd) inflateEnd = nullptr;
    decltype(&::crc32_z) crc32_z = nullptr;

    explicit Zlib(void* library) {
        const auto find = [library]<class Function>(Function& function, const char* name) {
            function = library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
        };
        find(inflateInit2_, "inflateInit2_");
        find(inflate, "inflate");
        find(inflateEnd, "inflateEnd");
        find(crc32_z, "crc32_z");
    }
    bool is_whole() const { return inflateInit2_ && inflate && inflateEnd && crc32_z; }
};

/// Returns the library's functions; null if it is not installed.
const Zlib* zlib() {
    static const Zlib functions(dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL));
    return functions.is_whole() ? &functions : nullptr;
}

/// Unpacks as much as fits into `unpacked`. Returns true if the data end there.
bool unpack(const Zlib& z, std::string_view packed, std::string& unpacked) {
    z_stream stream = {};
    if (z.inflateInit2_(&stream, -MAX_WBITS, ZLIB_VERSION, sizeof stream) != Z_OK) return false;
    constexpr std::size_t most = std::numeric_limits<uInt>::max();
    std::size_t taken = 0, made = 0;
    int status = Z_OK;
    while (status == Z_OK) {
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data())) + taken;
        stream.avail_in = static_cast<uInt>(std::min(most, packed.size() - taken));
        stream.next_out = reinterpret_cast<Bytef*>(unpacked.data()) + made;
        stream.avail_out = static_cast<uInt>(std::min(most, unpacked.size() - made));
        const uInt in = stream.avail_in, out = stream.avail_out;
        status = z.inflate(&stream, Z_NO_FLUSH);
        taken += in - stream.avail_in;
        made += out - stream.avail_out;
    }
    z.inflateEnd(&stream);
    return status == Z_STREAM_END && made == unpacked.size();
}

}  // namespace

std::string inflate(std::string_view packed, std::size_t size, std::uint32_t checksum, std::string& unpacked) {
    const Zlib* const z = zlib();
    if (z == nullptr) return "is packed, and zlib is not installed (Debian, Ubuntu: zlib1g); np.savez does not pack";
    constexpr std::size_t best_ratio =
        1032;  // of deflate: a damaged size must not make us ask for any amount of memory
    if (size / best_ratio > packed.size()) return "is damaged";
    unpacked.resize(size);
    if (!unpack(*z, packed, unpacked)) return "is damaged";
    const auto* const bytes = reinterpret_cast<const Bytef*>(unpacked.data());
    return z->crc32_z(0, bytes, size) == checksum ? "" : "is damaged";
}

}  // namespace fp32shim::cli

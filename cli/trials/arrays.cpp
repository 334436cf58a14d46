#include "cli/trials/numbers.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

namespace fp32shim::cli {
namespace {

constexpr std::string_view npy_magic = "\x93NUMPY";

/// Returns the number at position `at` of `bytes`, where it is stored in little-endian byte order.
template <class Number>
Number number_at(std::string_view bytes, std::size_t at) {
    static_assert(std::endian::native == std::endian::little);
    Number number{};
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
}

double half_at(std::string_view bytes, std::size_t at) {
    const auto bits = number_at<std::uint16_t>(bytes, at);
    const int exponent = bits >> 10 & 31;
    const int fraction = bits & 1023;
    double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31)
        size = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return (bits >> 15) == 0 ? size : -size;
}

template <class Number>
double value_at(std::string_view bytes, std::size_t at) {
    return static_cast<double>(number_at<Number>(bytes, at));
}

/// Describes a type of array elements: its name in a numpy header, the size in bytes and the number of the parts of
/// an element (a complex number has 2 parts), and the function that reads one part.
struct ElementType {
    std::string_view name;
    std::size_t size;
    std::size_t parts;
    double (*read)(std::string_view bytes, std::size_t at);
};
constexpr ElementType element_types[] = {
    {"f2", 2, 1, half_at},
    {"f4", 4, 1, value_at<float>},
    {"f8", 8, 1, value_at<double>},
    {"f16", 16, 1, sizeof(long double) == 16 ? value_at<long double> : nullptr},
    {"c8", 4, 2, value_at<float>},
    {"c16", 8, 2, value_at<double>},
    {"c32", 16, 2, sizeof(long double) == 16 ? value_at<long double> : nullptr},
    {"b1", 1, 1, value_at<std::uint8_t>},
    {"i1", 1, 1, value_at<std::int8_t>},
    {"i2", 2, 1, value_at<std::int16_t>},
    {"i4", 4, 1, value_at<std::int32_t>},
    {"i8", 8, 1, value_at<std::int64_t>},
    {"u1", 1, 1, value_at<std::uint8_t>},
    {"u2", 2, 1, value_at<std::uint16_t>},
    {"u4", 4, 1, value_at<std::uint32_t>},
    {"u8", 8, 1, value_at<std::uint64_t>},
};

/// Returns the value of `key` in the header of a numpy file, without the comma or bracket that ends the value.
std::string_view value_of(std::string_view header, std::string_view key) {
    const std::size_t found = header.find(fmt::format("'{}':", key));
    if (found == std::string_view::npos) return {};
    std::string_view value = header.substr(found + key.size() + 3);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    const char end = value.starts_with('(') ? ')' : value.starts_with('[') ? ']' : ',';
    return value.substr(0, value.find(end));
}

/// Returns the sizes in the text of a shape without its closing bracket, such as `(3, 4`. Returns nothing if the
/// product of the sizes overflows.
std::optional<std::vector<std::uint64_t>> sizes_in(std::string_view text) {
    std::vector<std::uint64_t> sizes;
    std::uint64_t product = 1;
    for (std::size_t at = 0; (at = text.find_first_of("0123456789", at)) != std::string_view::npos;) {
        std::uint64_t size = 0;
        const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), size);
        if (error != std::errc() || __builtin_mul_overflow(product, size, &product)) return std::nullopt;
        sizes.push_back(size);
        at = static_cast<std::size_t>(end - text.data());
    }
    return sizes;
}

std::string problem_with_type(std::string_view type) {
    if (type.starts_with('[')) return "has elements of several fields; allowed are numbers";
    if (type.find('O') != std::string_view::npos) return "has Python objects as elements; allowed are numbers";
    return fmt::format("has elements of the type {}; allowed are numbers", type);
}

/// Reads the elements of one array, whose type and shape are given by `type` and `row.shape`.
ParsedNumbers elements(std::string_view bytes, std::string_view type, NumberRow row) {
    const bool is_quoted = type.size() > 3 && type.front() == '\'' && type.back() == '\'';
    const std::string_view plain = is_quoted ? type.substr(2, type.size() - 3) : std::string_view();
    const auto* const found = std::ranges::find(element_types, plain, &ElementType::name);
    if (found == std::end(element_types) || found->read == nullptr) return {.problem = problem_with_type(type)};
    std::uint64_t count = found->parts;
    for (const std::uint64_t size : row.shape) count *= size;
    if (bytes.size() / found->size != count || bytes.size() % found->size != 0)
        return {.problem = "has another size than its header says"};
    ParsedNumbers numbers;
    numbers.values.reserve(count);
    std::string element;
    for (std::size_t at = 0; at < bytes.size(); at += found->size) {
        if (type[1] == '>') {
            element.assign(bytes.substr(at, found->size));
            std::ranges::reverse(element);
        }
        const std::string_view part = type[1] == '>' ? element : bytes.substr(at, found->size);
        const double value = found->read(part, 0);
        if (found->read == value_at<long double> && (value == 0 || std::isinf(value)) &&
            number_at<long double>(part, 0) != value)
            return {.problem = fmt::format("has {:.3g}, {}", number_at<long double>(part, 0), beyond_double_text)};
        numbers.values.push_back(value);
    }
    row.count = count;
    row.words.text = fmt::format("{} {}", type, fmt::join(row.shape, " "));
    row.has_parts = found->parts > 1;
    if (row.has_parts) row.shape.push_back(found->parts);
    numbers.rows.push_back(std::move(row));
    return numbers;
}

/// Holds functions of zlib, found in the shared library at run time. The members have the names of the functions.
struct Zlib {
    decltype(&::inflateInit2_) inflateInit2_ = nullptr;
    decltype(&::inflate) inflate = nullptr;
    decltype(&::inflateEnd) inflateEnd = nullptr;
    decltype(&::crc32) crc32 = nullptr;

    explicit Zlib(void* library) {
        const auto find = [library]<class Function>(Function& function, const char* name) {
            function = library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
        };
        find(inflateInit2_, "inflateInit2_");
        find(inflate, "inflate");
        find(inflateEnd, "inflateEnd");
        find(crc32, "crc32");
    }
    bool is_whole() const { return inflateInit2_ && inflate && inflateEnd && crc32; }
};

/// Returns zlib's functions, or null if zlib is not installed.
const Zlib* zlib() {
    static const Zlib functions(dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL));
    return functions.is_whole() ? &functions : nullptr;
}

/// Unpacks `packed`, which the method "deflate" has packed, to `size` bytes in `unpacked`. `checksum` is the CRC-32
/// of the unpacked data. Both sizes must be less than 4 GiB. Returns an empty text on success, and otherwise the
/// problem as the end of a sentence.
std::string inflate(std::string_view packed, std::size_t size, std::uint32_t checksum, std::string& unpacked) {
    const Zlib* const z = zlib();
    if (z == nullptr) return "is packed, and zlib is not installed (Debian, Ubuntu: zlib1g); np.savez does not pack";
    constexpr std::size_t best_ratio =
        1032;  // deflate packs no better, so a larger `size` is damaged, and must not take a huge amount of memory
    if (size / best_ratio > packed.size()) return "is damaged";
    unpacked.resize(size);
    z_stream stream = {};
    if (z->inflateInit2_(&stream, -MAX_WBITS, ZLIB_VERSION, sizeof stream) != Z_OK) return "is damaged";
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(unpacked.data());
    stream.avail_out = static_cast<uInt>(size);
    const bool is_whole = z->inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
    z->inflateEnd(&stream);
    const auto* const bytes = reinterpret_cast<const Bytef*>(unpacked.data());
    return is_whole && z->crc32(0, bytes, static_cast<uInt>(size)) == checksum ? "" : "is damaged";
}

/// A file in a zip archive, as the central directory at the end of the archive describes it.
struct ZipMember {
    std::string_view name, packed;
    unsigned flags = 0, method = 0;
    std::uint32_t checksum = 0;
    std::size_t size = 0;
    std::size_t entry_size = 0;  ///< size in bytes of the member's entry in the central directory
};

/// Returns the member whose central directory entry is at position `at` of `zip`, or nothing if the entry is damaged.
std::optional<ZipMember> member_at(std::string_view zip, std::size_t at) {
    constexpr std::size_t fixed_size = 46, local_size = 30;
    if (zip.size() < fixed_size || at > zip.size() - fixed_size || !zip.substr(at).starts_with("PK\x01\x02"))
        return {};
    const std::string_view entry = zip.substr(at);
    const auto word = [](std::string_view bytes, std::size_t begin) {
        return number_at<std::uint16_t>(bytes, begin);
    };
    const std::size_t name_size = word(entry, 28);
    const std::size_t packed_size = number_at<std::uint32_t>(entry, 20);
    const std::size_t local = number_at<std::uint32_t>(entry, 42);
    ZipMember member;
    member.flags = word(entry, 8);
    member.method = word(entry, 10);
    member.checksum = number_at<std::uint32_t>(entry, 16);
    member.size = number_at<std::uint32_t>(entry, 24);
    member.entry_size = fixed_size + name_size + word(entry, 30) + word(entry, 32);
    if (member.entry_size > entry.size() || local > zip.size() - local_size) return {};
    const std::size_t begin = local + local_size + word(zip, local + 26) + word(zip, local + 28);
    if (begin > zip.size() || packed_size > zip.size() - begin) return {};
    member.name = entry.substr(fixed_size, name_size);
    member.packed = zip.substr(begin, packed_size);
    return member;
}

/// Reads the array that a member of a zip archive contains.
ParsedNumbers numbers_of_member(const ZipMember& member) {
    constexpr unsigned stored = 0, deflated = 8, encrypted = 1;
    if ((member.flags & encrypted) != 0 || (member.method != stored && member.method != deflated))
        return {.problem = "is packed by a method that is not read; allowed are np.savez and np.savez_compressed"};
    std::string unpacked;
    if (member.method == deflated)
        if (std::string problem = inflate(member.packed, member.size, member.checksum, unpacked); !problem.empty())
            return {.problem = std::move(problem)};
    const std::string_view bytes = member.method == deflated ? std::string_view(unpacked) : member.packed;
    if (!is_npy(bytes)) return {.problem = "is no .npy file; allowed are archives of .npy files"};
    return parse_npy(bytes);
}

/// Adds the array of `member` to `all`. Returns false, with the problem in `all`, if the member cannot be read.
bool add_member(const ZipMember& member, ParsedNumbers& all) {
    ParsedNumbers one = numbers_of_member(member);
    if (!one.problem.empty()) {
        all = {.problem = fmt::format("cannot be read: its member {} {}", member.name, one.problem)};
        return false;
    }
    NumberRow row = std::move(one.rows.front());
    row.label = member.name.substr(0, member.name.rfind(".npy"));
    row.words.text = row.label + ' ' + row.words.text;
    row.first = all.values.size();
    all.rows.push_back(std::move(row));
    all.values.insert(all.values.end(), one.values.begin(), one.values.end());
    return true;
}

}  // namespace

bool is_npy(std::string_view bytes) { return bytes.starts_with(npy_magic); }

bool is_zip(std::string_view bytes) {
    return bytes.starts_with("PK\x03\x04") ||
           bytes.starts_with("PK\x05\x06");  // the second signature is that of an archive without members
}

ParsedNumbers parse_npy(std::string_view bytes) {
    if (bytes.size() < 12) return {.problem = "is truncated"};
    const bool is_old = bytes[6] == 1;
    const std::size_t size = is_old ? number_at<std::uint16_t>(bytes, 8) : number_at<std::uint32_t>(bytes, 8);
    const std::size_t begin = size + (is_old ? 10 : 12);
    if (bytes.size() < begin) return {.problem = "is truncated"};
    const std::string_view header = bytes.substr(0, begin);
    auto sizes = sizes_in(value_of(header, "shape"));
    if (!sizes) return {.problem = "has another size than its header says"};
    NumberRow row{.label = "array", .shape = std::move(*sizes)};
    row.is_fortran = value_of(header, "fortran_order") == "True";
    return elements(bytes.substr(begin), value_of(header, "descr"), std::move(row));
}

ParsedNumbers parse_npz(std::string_view bytes) {
    constexpr std::size_t end_size = 22;
    const std::size_t end = bytes.rfind("PK\x05\x06");
    if (end == std::string_view::npos || bytes.size() - end < end_size) return {.problem = "is truncated"};
    const std::size_t count = number_at<std::uint16_t>(bytes, end + 10);
    std::size_t at = number_at<std::uint32_t>(bytes, end + 16);
    constexpr std::uint32_t elsewhere = 0xffffffff;
    if (at == elsewhere || count == 0xffff)
        return {.problem = "is larger than 4 GiB, or has 65,535 arrays; write several files"};
    ParsedNumbers all;
    for (std::size_t i = 0; i < count; ++i) {
        const auto member = member_at(bytes, at);
        if (!member) return {.problem = "is damaged"};
        if (!add_member(*member, all)) return all;
        at += member->entry_size;
    }
    return all;
}

}  // namespace fp32shim::cli

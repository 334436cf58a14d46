#include "shim/table/functions.hpp"

#include <array>

#include "shim/loader/elf/text.hpp"

namespace fp32shim {

constexpr Function functions[function_count] = {
#define ROW(symbol, family, convention, width) {#symbol, &families::family, Convention::convention, Width::width},
#include "shim/table/functions.def"
#undef ROW
};

namespace {

// Open addressing, built by the compiler, so that nothing has to be initialised before the first `dlsym`.
constexpr std::uint32_t bucket_count = 2048;
static_assert(function_count * 3 < bucket_count * 2, "keep the hash table sparse");

constexpr std::array<std::int16_t, bucket_count> make_buckets() {
    std::array<std::int16_t, bucket_count> buckets{};
    buckets.fill(-1);
    for (FunctionIndex index = 0; index < function_count; ++index) {
        std::uint32_t bucket = elf::gnu_hash(functions[index].name) % bucket_count;
        while (buckets[bucket] >= 0) bucket = (bucket + 1) % bucket_count;
        buckets[bucket] = static_cast<std::int16_t>(index);
    }
    return buckets;
}

constexpr std::array<std::int16_t, bucket_count> buckets = make_buckets();

}  // namespace

FunctionIndex find_function(const char* symbol) {
    const std::string_view name = elf::view(symbol);
    for (std::uint32_t bucket = elf::gnu_hash(name) % bucket_count; buckets[bucket] >= 0;
         bucket = (bucket + 1) % bucket_count) {
        if (elf::equal(functions[buckets[bucket]].name, name)) return buckets[bucket];
    }
    return -1;
}

FunctionIndex underscored(FunctionIndex bare) {
    char name[64];
    std::size_t length = 0;
    for (char letter : functions[bare].name)
        name[length++] = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + ('a' - 'A')) : letter;
    name[length++] = '_';
    name[length] = '\0';
    return find_function(name);
}

FunctionIndex row_beside(const Function& function, std::string_view family) {
    const std::string_view name = function.name;
    const std::string_view own = function.family->name;
    const bool upper = name[0] >= 'A' && name[0] <= 'Z';
    const auto fold = [upper](char letter) {
        return upper && letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 32) : letter;
    };
    for (std::size_t begin = 0; begin + own.size() <= name.size(); ++begin) {
        std::size_t matched = 0;
        while (matched < own.size() && name[begin + matched] == fold(own[matched])) ++matched;
        if (matched < own.size()) continue;
        std::array<char, 64> text{};
        std::size_t size = 0;
        const auto append = [&](std::string_view part) {
            for (char letter : part)
                if (size + 1 < text.size()) text[size++] = letter;
        };
        append(name.substr(0, begin));
        for (char letter : family) {
            const char folded = fold(letter);
            append({&folded, 1});
        }
        append(name.substr(begin + own.size()));
        return find_function(text.data());
    }
    return -1;
}

}  // namespace fp32shim

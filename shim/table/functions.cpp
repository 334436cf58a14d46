#include "shim/table/functions.hpp"

#include <array>

#include "system/elf.hpp"
#include "system/inline_text.hpp"

namespace fp32shim {

namespace {

struct NameFormMeaning {
    CallingConvention convention;
    Width width;
};

constexpr NameFormMeaning form_meanings[] = {
#define FORM(form, convention, width) {CallingConvention::convention, Width::width},
#include "shim/table/functions.def"
};

constexpr Function make_function(std::string_view name, const FunctionFamily& family, NameForm form) {
    const NameFormMeaning& meaning = form_meanings[static_cast<std::size_t>(form)];
    return {name, &family, form, meaning.convention, meaning.width};
}

}  // namespace

constexpr Function functions[function_count] = {
#define ROW(symbol, family, form) make_function(#symbol, families::family, NameForm::form),
#include "shim/table/functions.def"
};

namespace {

// A hash table with open addressing. It is filled at compile time, because it must be ready before the first call of
// `dlsym`.
constexpr std::uint32_t bucket_count = 4096;
static_assert(function_count * 3 < bucket_count * 2, "keep the hash table sparse");

constexpr std::array<std::int16_t, bucket_count> make_buckets() {
    std::array<std::int16_t, bucket_count> buckets{};
    buckets.fill(-1);
    for (FunctionIndex index = 0; index < function_count; ++index) {
        std::uint32_t bucket = system::gnu_hash(functions[index].name) % bucket_count;
        while (buckets[bucket] >= 0) bucket = (bucket + 1) % bucket_count;
        buckets[bucket] = static_cast<std::int16_t>(index);
    }
    return buckets;
}

constexpr std::array<std::int16_t, bucket_count> buckets = make_buckets();

constexpr std::array<bool, 256> letters_that_begin_a_name() {
    std::array<bool, 256> letters{};
    for (const Function& function : functions) letters[static_cast<unsigned char>(function.name[0])] = true;
    return letters;
}

constexpr std::array<bool, 256> first_letters = letters_that_begin_a_name();

}  // namespace

FunctionIndex find_function(const char* symbol) {
    // Most names of a large library are mangled C++ names, which begin with an underscore. This test rejects them
    // without computing a hash.
    if (!first_letters[static_cast<unsigned char>(symbol[0])]) return -1;
    const std::string_view name = system::view(symbol);
    for (std::uint32_t bucket = system::gnu_hash(name) % bucket_count; buckets[bucket] >= 0;
         bucket = (bucket + 1) % bucket_count)
        if (system::equal(functions[buckets[bucket]].name, name)) return buckets[bucket];
    return -1;
}

FunctionIndex find_function(const FunctionFamily& family, NameForm form) {
    for (FunctionIndex index = 0; index < function_count; ++index)
        if (functions[index].family == &family && functions[index].form == form) return index;
    return -1;
}

}  // namespace fp32shim

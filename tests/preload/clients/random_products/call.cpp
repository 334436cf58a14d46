#include "call.hpp"

#include <array>
#include <deque>
#include <string_view>
#include <utility>

// ---- references that the loader binds ----------------------------------------------------------------------------

// clang-format off
#define PLAIN_NAMES(X) \
    X(sgemm) X(cgemm) X(cgemm3m) X(sgemmt) X(cgemmt) X(sgemmtr) X(cgemmtr) X(ssymm) X(csymm) X(chemm) X(ssyrk) \
    X(csyrk) X(cherk) X(ssyr2k) X(csyr2k) X(cher2k) X(strmm) X(ctrmm) X(strsm) X(ctrsm)
#define BATCH_NAMES(X) \
    X(sgemm_batch) X(cgemm_batch) X(cgemm3m_batch) X(ssyrk_batch) X(csyrk_batch) X(strsm_batch) X(ctrsm_batch) \
    X(sgemm_batch_strided) X(cgemm_batch_strided) X(cgemm3m_batch_strided) X(ssyrk_batch_strided) \
    X(csyrk_batch_strided) X(strsm_batch_strided) X(ctrsm_batch_strided)
// clang-format on

namespace linked {  // own prototypes, since client.h has some of these names
extern "C" {
#define REFERENCE(base)                                              \
    __attribute__((weak)) void weak_##base(void) __asm__(#base "_"); \
    __attribute__((weak)) void weak_cblas_##base(void) __asm__("cblas_" #base);
PLAIN_NAMES(REFERENCE)
BATCH_NAMES(REFERENCE)
#undef REFERENCE
}
}  // namespace linked

Function linked_function(const std::string& name) {
    static const std::pair<std::string_view, Function> functions[] = {
#define ENTRY(base) {#base "_", linked::weak_##base}, {"cblas_" #base, linked::weak_cblas_##base},
        PLAIN_NAMES(ENTRY) BATCH_NAMES(ENTRY)
#undef ENTRY
    };
    for (const auto& [known, function] : functions)
        if (known == name) return function;
    return nullptr;
}

// ---- argument lists ----------------------------------------------------------------------------------------------

namespace {

int enum_of(char Product::*option, char letter) {
    if (option == &Product::side) return letter == 'L' ? left : right;
    if (option == &Product::uplo) return letter == 'U' ? upper : lower;
    if (option == &Product::diag) return letter == 'N' ? non_unit : unit;
    return letter == 'N' ? no_trans : letter == 'T' ? trans : conj_trans;
}

/// Holds integer-class arguments as words, and float32 arguments separately: x86-64 and aarch64 pass each class in
/// its own sequence. Also holds the values that are passed by reference.
class Arguments {
  public:
    explicit Arguments(const Call& call) : call_(call) {}

    void option(char Product::*member) {
        if (call_.groups.front().*member == 0) return;
        if (call_.batching != Batching::groups)
            return call_.is_cblas ? word(enum_of(member, call_.groups.front().*member))
                                  : by_reference(letters_, member);
        if (call_.is_cblas) {
            auto& values = enums_.emplace_back();
            for (const Product& product : call_.groups) values.push_back(enum_of(member, product.*member));
            pointer(values.data());
        } else {
            by_reference(letters_, member);
        }
    }

    template <class Get>
    void number(Get get) {
        if (call_.batching != Batching::groups && call_.is_cblas) return word(get(call_.groups.front()));
        auto& values = numbers_.emplace_back();
        for (const Product& product : call_.groups) values.push_back(static_cast<blas_int>(get(product)));
        pointer(values.data());
    }
    void single_number(std::int64_t value) {
        if (call_.is_cblas) return word(value);
        numbers_.push_back({static_cast<blas_int>(value)});
        pointer(numbers_.back().data());
    }
    void numbers(const std::vector<std::int64_t>& list) {
        auto& values = numbers_.emplace_back();
        for (const std::int64_t value : list) values.push_back(static_cast<blas_int>(value));
        pointer(values.data());
    }

    void scalar(std::array<float, 2> Product::*member, bool is_real) {
        if (call_.batching != Batching::groups && call_.is_cblas && is_real) {
            floats_[float_count_++] = (call_.groups.front().*member)[0];
            return;
        }
        auto& values = scalars_.emplace_back();
        for (const Product& product : call_.groups) {
            values.push_back((product.*member)[0]);
            if (!is_real) values.push_back((product.*member)[1]);
        }
        pointer(values.data());
    }

    void operand(const std::vector<float*>& pointers) {
        if (call_.batching == Batching::groups) return pointer(pointers.data());
        pointer(pointers.front());
    }

    void word(std::int64_t value) { words_[word_count_++] = static_cast<std::uint64_t>(value); }
    void lengths_of_options() {
        for (std::size_t i = 0; i < 4 && !call_.is_cblas; ++i) word(1);
    }

    void pass_to(Function function) const { pass_to(function, std::make_index_sequence<word_limit>()); }

  private:
    static constexpr std::size_t word_limit = 24;  // a callee ignores words after its last argument

    template <class Word, std::size_t... index>
    static auto type_of_function(std::index_sequence<index...>)
        -> void (*)(std::conditional_t<index == word_limit, void, Word>..., float, float);
    template <std::size_t... index>
    void pass_to(Function function, std::index_sequence<index...> sequence) const {
        using Type = decltype(type_of_function<std::uint64_t>(sequence));
        reinterpret_cast<Type>(function)(words_[index]..., floats_[0], floats_[1]);
    }

    template <class Lists>
    void by_reference(Lists& lists, char Product::*member) {
        auto& values = lists.emplace_back();
        for (const Product& product : call_.groups) values.push_back(product.*member);
        pointer(values.data());
    }
    void pointer(const void* value) { word(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(value))); }

    const Call& call_;
    std::array<std::uint64_t, word_limit> words_{};
    std::size_t word_count_ = 0;
    std::array<float, 2> floats_{};
    std::size_t float_count_ = 0;
    std::deque<std::vector<char>> letters_;
    std::deque<std::vector<int>> enums_;
    std::deque<std::vector<blas_int>> numbers_;
    std::deque<std::vector<float>> scalars_;
};

}  // namespace

void make(const Call& call, Function function) {
    const Product& first = call.groups.front();
    const bool is_strided = call.batching == Batching::strided;
    Arguments arguments(call);
    if (call.is_cblas) arguments.word(first.row_major ? row_major : column_major);
    for (const auto option : {&Product::side, &Product::uplo, &Product::trans_a, &Product::trans_b, &Product::diag})
        arguments.option(option);
    if (first.has_m()) arguments.number([](const Product& p) { return p.m; });
    arguments.number([](const Product& p) { return p.n; });
    if (first.has_k()) arguments.number([](const Product& p) { return p.k; });

    const bool is_herk = first.operation == Operation::herk;
    arguments.scalar(&Product::alpha, !first.is_complex || is_herk);
    arguments.operand(call.a);
    arguments.number([](const Product& p) { return p.a.ld; });
    if (is_strided) arguments.single_number(call.stride_a);
    if (first.has_b()) {
        arguments.operand(call.b);
        arguments.number([](const Product& p) { return p.b.ld; });
        if (is_strided) arguments.single_number(call.stride_b);
    }
    if (!first.is_triangular()) {
        arguments.scalar(&Product::beta, !first.is_complex || is_herk || first.operation == Operation::her2k);
        arguments.operand(call.c);
        arguments.number([](const Product& p) { return p.c.ld; });
        if (is_strided) arguments.single_number(call.stride_c);
    }
    if (is_strided) arguments.single_number(call.group_sizes.front());
    if (call.batching == Batching::groups) {
        arguments.single_number(static_cast<std::int64_t>(call.groups.size()));
        arguments.numbers(call.group_sizes);
    }
    arguments.lengths_of_options();
    arguments.pass_to(function);
}

std::size_t Call::product_count() const {
    std::size_t count = 0;
    for (const std::int64_t size : group_sizes) count += static_cast<std::size_t>(size);
    return count;
}

std::string Call::base_name() const {
    static const char* const names[] = {"gemm", "gemm3m", "gemmt", "gemmtr", "symm", "hemm",
                                        "syrk", "herk",   "syr2k", "her2k",  "trmm", "trsm"};
    const Product& first = groups.front();
    std::string name = first.is_complex ? "c" : "s";
    name += names[static_cast<int>(first.operation)];
    if (batching != Batching::single) name += batching == Batching::groups ? "_batch" : "_batch_strided";
    return name;
}

Call Call::single(std::size_t index) const {
    Call one{Batching::single, is_cblas, {}, {1}, {}, {}, {}};
    if (batching == Batching::strided) {
        const auto at = [&](const std::vector<float*>& pointers, std::int64_t stride) {
            const std::int64_t floats = stride * (groups.front().is_complex ? 2 : 1);
            return pointers.empty() ? nullptr : pointers.front() + floats * static_cast<std::int64_t>(index);
        };
        one.groups = groups;
        one.a = {at(a, stride_a)};
        one.b = {at(b, stride_b)};
        one.c = {at(c, stride_c)};
        return one;
    }
    std::size_t group = 0;
    for (std::size_t left = index; left >= static_cast<std::size_t>(group_sizes[group]); ++group)
        left -= static_cast<std::size_t>(group_sizes[group]);
    one.groups = {groups[group]};
    one.a = {a[index]};
    one.b = {b.empty() ? nullptr : b[index]};
    one.c = {c.empty() ? nullptr : c[index]};
    return one;
}

std::string Call::description() const {
    std::string text = name();
    for (std::size_t i = 0; i < groups.size(); ++i)
        text += (i == 0 ? ": " : "; ") + groups[i].description() + " times " + std::to_string(group_sizes[i]);
    return text;
}

#include "record/onednn/line.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <utility>

namespace fp32shim::record {
namespace {

using policy::AppliedFormat;
using policy::Dtype;

constexpr std::string_view no_products[] = {
#define NO_PRODUCT(kind) kind,
#include "record/onednn/implementations.def"
};

struct NamedDataType {
    std::string_view word;
    std::optional<Dtype> dtype;
};
constexpr NamedDataType data_types[] = {
#define DATA_TYPE(word, dtype) {word, dtype},
#include "record/onednn/implementations.def"
};
constexpr std::size_t unknown_type = std::size(data_types);

struct FpmathMode {
    std::string_view word;
    AppliedFormat applied;
};
constexpr FpmathMode modes[] = {
#define FPMATH_MODE(word, applied) {word, AppliedFormat::applied},
#include "record/onednn/implementations.def"
};

struct ImplementationWord {
    std::string_view word, mode;
    AppliedFormat actual;
};
constexpr ImplementationWord words[] = {
#define WORD(word, mode, actual) {word, mode, AppliedFormat::actual},
#include "record/onednn/implementations.def"
};

template <std::size_t count>
bool is_one_of(const std::string_view (&known)[count], std::string_view word) {
    return std::ranges::find(known, word) != std::end(known);
}

bool begins_with_one_of(std::string_view text, std::initializer_list<std::string_view> beginnings) {
    return std::ranges::any_of(beginnings, [&](std::string_view beginning) { return text.starts_with(beginning); });
}

/// Returns the part of `text` before the first character that is in `separators`, and removes this part and the
/// separator from `text`.
std::string_view take_before(std::string_view& text, std::string_view separators) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    const std::string_view before(text.data(), end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return before;
}

/// Removes the digits at the beginning of `text` and returns the number that they form, or -1 if there are no digits
/// or the number is too large.
std::int64_t cut_number(std::string_view& text) {
    const auto is_digit = [&] { return !text.empty() && text.front() >= '0' && text.front() <= '9'; };
    std::int64_t number = is_digit() ? 0 : -1;
    for (; is_digit(); text.remove_prefix(1))
        if (number >= 0 && (__builtin_mul_overflow(number, 10, &number) ||
                            __builtin_add_overflow(number, text.front() - '0', &number)))
            number = -1;
    return number;
}

/// Reads a number of milliseconds that printf wrote with %g in any locale. Returns the time in nanoseconds, or -1 if
/// `text` is not such a number.
std::int64_t nanoseconds_of(std::string_view text) {
    std::int64_t number = cut_number(text), exponent = 6;
    if (number < 0) return -1;
    if (text.starts_with('.') || text.starts_with(',')) {
        text.remove_prefix(1);
        for (; !text.empty() && text.front() >= '0' && text.front() <= '9' && number < INT64_MAX / 100; --exponent) {
            number = number * 10 + (text.front() - '0');
            text.remove_prefix(1);
        }
    }
    if (begins_with_one_of(text, {"e+", "e-"})) {
        const bool is_negative = text[1] == '-';
        text.remove_prefix(2);
        const std::int64_t power = cut_number(text);
        if (power < 0 || power > 99) return -1;
        exponent += is_negative ? -power : power;
    }
    if (!text.empty()) return -1;
    for (; exponent < 0; ++exponent) number /= 10;
    for (; exponent > 0; --exponent)
        if (__builtin_mul_overflow(number, 10, &number)) return -1;
    return number;
}

std::size_t data_type(std::string_view word) {
    return static_cast<std::size_t>(std::ranges::find(data_types, word, &NamedDataType::word) -
                                    std::begin(data_types));
}

/// Removes the type at the end of a name such as `src_f32`. Returns the type, or an empty text if the name ends in no
/// known type.
std::string_view cut_type(std::string_view& name) {
    for (const NamedDataType& known : data_types) {
        if (!name.ends_with(known.word)) continue;
        const std::string_view before = name.substr(0, name.size() - known.word.size());
        if (!before.ends_with('_')) continue;
        name = before.substr(0, before.size() - 1);
        return known.word;
    }
    return {};
}

/// Reads descriptions of tensors, such as `src:f32:a:blocked:ab::f0 wei:...`, or `src_f32::blocked:ab:f0 wei_...`
/// before oneDNN 3.6. Tensors of a partition have names such as `in0_f32:...`. Sets the types in `execution`. Returns
/// the index of the narrowest type in `data_types`, or nullopt if `tensors` lists no tensors except biases and
/// masks.
std::optional<std::size_t> read_types(std::string_view tensors, OneDnnExecution& execution) {
    std::optional<std::size_t> narrowest;
    while (!tensors.empty()) {
        std::string_view rest = take_before(tensors, " ");
        std::string_view name = take_before(rest, ":");
        std::string_view type = take_before(rest, ":");
        if (name.empty() || type == "undef" || name.ends_with("_undef") || begins_with_one_of(name, {"bia", "msk"}))
            continue;
        if (data_type(type) == unknown_type) type = cut_type(name);
        if (execution.source_type.empty() && begins_with_one_of(name, {"src", "query", "in0"}))
            execution.source_type = type;
        else if (execution.weights_type.empty() && begins_with_one_of(name, {"wei", "key", "src_b", "in1"}))
            execution.weights_type = type;
        narrowest = std::max(narrowest.value_or(0), data_type(type));
    }
    return narrowest;
}

constexpr std::size_t max_dimensions = 12;  // oneDNN's DNNL_MAX_NDIMS

/// Reads a text such as `8x64x96` into `dimensions`. Returns the number of dimensions, or 0 if the text has another
/// form.
std::size_t read_dimensions(std::string_view text, std::array<std::int64_t, max_dimensions>& dimensions) {
    for (std::size_t count = 0; count < max_dimensions;) {
        dimensions[count] = cut_number(text);
        if (dimensions[count++] < 0) return 0;
        if (text.empty()) return count;
        if (text.front() != 'x') return 0;
        text.remove_prefix(1);
    }
    return 0;
}

/// Reads the shape of a matmul, such as `8x64x96:8x96x32`. Up to oneDNN 3.0, the shape of the result follows, such as
/// `:8x64x32`.
void read_matmul(std::string_view shape, OneDnnExecution& execution) {
    std::array<std::int64_t, max_dimensions> source = {}, weights = {};
    const std::size_t count = read_dimensions(take_before(shape, ":"), source);
    if (count < 2 || read_dimensions(take_before(shape, ":"), weights) != count) return;
    std::int64_t batch = 1;
    for (std::size_t i = 0; i + 2 < count; ++i)
        if (__builtin_mul_overflow(batch, source[i] == 1 ? weights[i] : source[i], &batch)) return;
    execution.m = source[count - 2];
    execution.k = source[count - 1];
    execution.n = weights[count - 1];
    execution.batch = batch;
}

/// Reads the shape of an inner product, such as `mb64ic16ih7iw7oc128`.
void read_inner_product(std::string_view shape, std::string_view pass, OneDnnExecution& execution) {
    std::int64_t m = -1, n = -1, k = 1;
    while (!shape.empty()) {
        const std::string_view name(shape.data(), std::min<std::size_t>(shape.size(), 2));
        shape.remove_prefix(name.size());
        const std::int64_t size = cut_number(shape);
        if (size < 0) return;
        if (name == "mb")
            m = size;
        else if (name == "oc")
            n = size;
        else if (__builtin_mul_overflow(k, size, &k))
            return;
    }
    if (m < 0 || n < 0) return;
    execution.m = pass == "backward_weights" ? n : m;
    execution.n = pass == "forward" || pass.starts_with("forward_") ? n : k;
    execution.k = pass == "backward_weights" ? m : pass == "backward_data" ? n : k;
}

/// Returns the format in which an implementation multiplies float32 in the fpmath mode `mode`. The result is
/// `unchanged` if the implementation may use float32 or a lower format, and nullopt if a word of its name is not
/// known.
std::optional<AppliedFormat> format_of(std::string_view implementation, std::string_view mode) {
    AppliedFormat format = AppliedFormat::fp32;
    for (bool is_last = false; !is_last;) {
        is_last = implementation.find_first_of(":+") == std::string_view::npos;
        const std::string_view word = take_before(implementation, ":+");
        const auto* const row = std::ranges::find_if(words, [&](const ImplementationWord& known) {
            return known.word == word && (known.mode.empty() || known.mode == mode);
        });
        if (row == std::end(words)) return std::nullopt;
        if (row->actual != AppliedFormat::fp32) format = row->actual;
    }
    return format;
}

/// Sets the formats in `execution`, or the reason why they are not known. `type` is an index in `data_types`.
/// `is_strict_sum` is false if the attributes allow sums that are less exact than float32.
void judge_formats(std::optional<std::size_t> type, bool is_strict_sum, OneDnnExecution& execution) {
    if (!type || *type == unknown_type) {
        execution.doubt = "the line names no type that is known";
        return;
    }
    execution.dtype = data_types[*type].dtype;
    if (!execution.dtype) {
        execution.doubt = "quantised: some operands are integers";
        return;
    }
    if (!policy::is_single(*execution.dtype) && !policy::is_double(*execution.dtype)) return;
    const auto* const mode = std::ranges::find(modes, execution.fpmath, &FpmathMode::word);
    const auto format = format_of(execution.implementation, execution.fpmath);
    if (execution.duration_ns < 0) {
        execution.doubt = "the line is cut off";  // its attributes may be missing
    } else if (execution.engine != "cpu") {
        execution.doubt = "formats of other devices than CPUs are not known";
    } else if (!is_strict_sum) {
        execution.doubt = "sums may be less exact than float32";
    } else if (mode == std::end(modes) || !format) {
        execution.doubt = "its implementation is not known in this mode";
    } else if (policy::is_double(*execution.dtype)) {
        execution.applied = AppliedFormat::fp64;
        execution.actual = AppliedFormat::fp64;
    } else {
        execution.applied = mode->applied;
        if (*format == AppliedFormat::unchanged)
            execution.doubt = "its implementation may use what the mode permits, or float32";
        else
            execution.actual = format;
    }
}

/// Returns the value of the attribute `name`, up to a colon, or `strict`, which is the default, if the attribute is
/// missing.
std::string_view value_of(std::string_view name, std::string_view attributes) {
    const std::size_t at = attributes.find(name);
    if (at == std::string_view::npos) return "strict";
    attributes.remove_prefix(at + name.size());
    take_before(attributes, ":");
    std::string_view value = take_before(attributes, ": ,");
    constexpr std::string_view prefix = "fpmath_mode_";  // oneDNN 2.6 writes attr-fpmath_mode:fpmath_mode_bf16
    if (value.starts_with(prefix)) value.remove_prefix(prefix.size());
    return value;
}

/// Reads the text about a partition of the graph API. Its fields are the engine, the number, the kind, the
/// operations, the formats, the tensors, fpm:MODE, scratchpad:BYTES (since oneDNN 3.13), the implementation
/// (since 3.6) and the backend. The program chooses the names of operations, so they may contain commas.
void read_partition(std::string_view text, OneDnnExecution& execution) {
    execution.kind = "partition";
    execution.engine = take_before(text, ",");
    take_before(text, ",");
    execution.shape = take_before(text, ",");
    std::string_view backend;
    while (!text.empty()) {
        const std::string_view field = take_before(text, ",");
        if (begins_with_one_of(field, {"in0_", "out0_"})) read_types(field, execution);
        if (field.starts_with("fpm:")) execution.fpmath = value_of("fpm", field);
        execution.implementation = std::exchange(backend, field);
    }
    if (execution.implementation.starts_with("fpm:")) execution.implementation = {};
    // The backend dnnl_backend executes its products as primitives, which print their own lines
    // (src/graph/backend/dnnl/executables/, 3.13).
    execution.multiplies = backend != "dnnl_backend";
    execution.doubt = "what the graph API executes in a partition is not told";
}

void read_primitive(std::string_view text, OneDnnExecution& execution) {
    // Versions of oneDNN before 1.0 name no engine.
    if (begins_with_one_of(text, {"cpu", "gpu"})) execution.engine = take_before(text, ",");
    execution.kind = take_before(text, ",");
    execution.implementation = take_before(text, ",");
    const std::string_view pass = take_before(text, ",");
    const std::string_view tensors = take_before(text, ",");
    const std::size_t before_shape = text.rfind(',');
    execution.shape = before_shape == std::string_view::npos ? text : text.substr(before_shape + 1);
    execution.fpmath = value_of("attr-fpmath", text);
    execution.multiplies = !is_one_of(no_products, execution.kind);
    const auto type = read_types(tensors, execution);
    if (!execution.multiplies) return;
    if (execution.kind == "matmul" || execution.kind == "gemm_api") read_matmul(execution.shape, execution);
    if (execution.kind == "inner_product") read_inner_product(execution.shape, pass, execution);
    judge_formats(type, value_of("attr-acc-mode", text) == "strict", execution);
}

/// Reads `text`, which follows `exec,` in a line. The time begins after the comma at the index `comma`; npos means
/// that the line has no time. `is_of_graph` is true for a partition of the graph API, and false for a primitive.
void read_execution(std::string_view text, std::size_t comma, bool is_of_graph, OneDnnExecution& execution) {
    execution = {};
    execution.fpmath = "strict";
    execution.identity = text;
    if (comma != std::string_view::npos) {
        execution.duration_ns = nanoseconds_of(text.substr(comma + 1));
        if (execution.duration_ns >= 0) execution.identity = text.substr(0, comma);
    }
    is_of_graph ? read_partition(execution.identity, execution) : read_primitive(execution.identity, execution);
}

void read_execution(std::string_view text, bool is_of_graph, OneDnnExecution& execution) {
    const std::size_t comma = text.rfind(',');
    read_execution(text, comma, is_of_graph, execution);
    // If the last field before the time is only a number, the number belongs to the time, because the shape of a
    // product is never only a number. Some locales write a comma in the time, as in 0,5.
    std::string_view shape = execution.shape;
    if (execution.multiplies && execution.duration_ns >= 0 && cut_number(shape) >= 0 && shape.empty())
        read_execution(text, text.rfind(',', comma - 1), is_of_graph, execution);
}

}  // namespace

OneDnnLineKind parse_onednn_line(std::string_view line, OneDnnExecution& execution) {
    if (line.ends_with('\n')) line.remove_suffix(1);
    const std::string_view beginning = take_before(line, ",");
    if (!is_one_of(onednn_line_beginnings, beginning)) return OneDnnLineKind::other;
    bool is_of_graph = beginning.ends_with("graph_verbose");
    // Depending on the version, up to three fields precede `info`, `error` or `exec`: the version of the line's
    // format, a time, and the part of the library.
    for (int field = 0; field < 4; ++field) {
        const std::string_view word = take_before(line, ",");
        is_of_graph = is_of_graph || word == "graph";
        if (word == "info") break;
        if (word == "error") return OneDnnLineKind::error;
        if (word != "exec") continue;
        read_execution(line, is_of_graph, execution);
        return OneDnnLineKind::execution;
    }
    return OneDnnLineKind::other;
}

}  // namespace fp32shim::record

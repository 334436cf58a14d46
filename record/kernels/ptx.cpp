// Reads PTX texts. Each `.entry` in a PTX text begins a kernel, and each `.func` begins a function that kernels call.
#include <iterator>

#include "record/kernels/kinds.hpp"

namespace fp32shim::record {
namespace {

bool is_in_word(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           letter == '_' || letter == '$' || letter == '.' || letter == '%';
}

/// Cuts a text into words, such as `.entry`, `mma.sp::ordered_metadata.sync` and `%r1`. Each other character, such as
/// `;`, counts as a word by itself.
class PtxTokenizer {
  public:
    explicit PtxTokenizer(std::string_view text) : rest_(text) {}

    /// Returns the next word, or an empty word at the end of the text.
    std::string_view next() {
        for (;;) {
            if (rest_.starts_with("//"))
                cut_behind("\n");
            else if (rest_.starts_with("/*"))
                cut_behind("*/", 2);
            else if (rest_.starts_with('"'))
                cut_behind("\"", 1);
            else if (!rest_.empty() && (rest_.front() == ' ' || (rest_.front() >= '\t' && rest_.front() <= '\r')))
                rest_.remove_prefix(1);
            else
                break;
        }
        std::size_t size = 0;
        while (size < rest_.size())
            if (is_in_word(rest_[size]))
                ++size;
            else if (size > 0 && rest_.substr(size).starts_with("::"))
                size += 2;
            else
                break;
        const std::string_view word = rest_.substr(0, std::max<std::size_t>(size, 1));
        rest_.remove_prefix(word.size());
        return word;
    }

  private:
    void cut_behind(std::string_view end, std::size_t from = 0) {
        const std::size_t at = rest_.find(end, from);
        rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + end.size());
    }

    std::string_view rest_;
};

struct NamedFormats {
    std::string_view word;
    TensorFormats formats;
};

/// Names of the types of operands and sums, from the PTX ISA's chapters on the instructions.
constexpr NamedFormats ptx_types[] = {
    {"f16", tensor_fp16},   {"bf16", tensor_bf16},  {"tf32", tensor_tf32},   {"f64", tensor_fp64},
    {"e4m3", tensor_fp8},   {"e5m2", tensor_fp8},   {"e3m2", tensor_fp8},    {"e2m3", tensor_fp8},
    {"e2m1", tensor_fp8},   {"s8", tensor_integer}, {"u8", tensor_integer},  {"s4", tensor_integer},
    {"u4", tensor_integer}, {"b1", tensor_integer}, {"f32", tensor_unknown}, {"s32", tensor_unknown},
};

/// Names of the kinds of tcgen05.mma, an instruction that does not name types. For the kind f16, only the
/// instruction's descriptor tells if the operands are FP16 or BF16.
constexpr NamedFormats kinds[] = {
    {"kind::f16", tensor_fp16 | tensor_bf16},
    {"kind::tf32", tensor_tf32},
    {"kind::i8", tensor_integer},
    {"kind::f8f6f4", tensor_fp8},
    {"kind::mxf8f6f4", tensor_fp8},
    {"kind::mxf4", tensor_fp8},
    {"kind::mxf4nvf4", tensor_fp8},
};

/// Returns the formats of the operands of an instruction that multiplies matrices. The instruction begins with
/// `mma.`, `wgmma.mma_async.` or the like.
TensorFormats formats_of(std::string_view instruction) {
    const auto cut = [&] {
        const std::size_t end = std::min(instruction.find('.'), instruction.size());
        const std::string_view part = instruction.substr(0, end);
        instruction.remove_prefix(std::min(end + 1, instruction.size()));
        return part;
    };
    const std::string_view family = cut();
    TensorFormats named[4] = {};  // formats of the result, A, B and C; if A and B are FP16, wmma names only the
                                  // formats of the result and of C
    std::size_t count = 0;
    while (!instruction.empty()) {
        const std::string_view part = cut();
        if (family == "tcgen05")
            if (const auto* const kind = std::ranges::find(kinds, part, &NamedFormats::word); kind != std::end(kinds))
                return kind->formats;
        const auto* const type = std::ranges::find(ptx_types, part, &NamedFormats::word);
        if (type != std::end(ptx_types) && count < std::size(named)) named[count++] = type->formats;
    }
    if (family == "wmma" && count == 2) return tensor_fp16;
    return count < 3 ? tensor_unknown : named[1] | named[2];
}

/// Visits each kernel in `text` with the formats in the kernel's own code. Returns the formats in the functions of
/// `text` that are not kernels.
TensorFormats visit_kernels(std::string_view text, ImageFacts& facts, const KernelVisitor& visitor) {
    enum { nothing, kernel, function } part = nothing;
    TensorFormats in_functions = 0, formats = 0;
    std::string_view name, previous;
    bool is_external = false, is_name_next = false;
    int parentheses = 0;
    const auto end_part = [&] {
        if (part == kernel) visitor.visit(visitor.context, name, formats);
        if (part == function) in_functions |= formats;
        formats = 0;
    };
    PtxTokenizer words(text);
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
        const char first = word.front();
        // ptxas accepts directives without spaces between them, such as `.visible.entry`, and spaces before `.sync`
        // in `mma.sync`.
        if (word.find(".extern") != std::string_view::npos) is_external = true;
        if (word.ends_with(".entry") || word.ends_with(".func")) {
            end_part();
            part = word.ends_with(".entry") ? kernel : function;
            name = {};
            is_name_next = true;
            parentheses = 0;
        } else if (is_name_next && (first == '(' || first == ')')) {  // parentheses enclose the results of a function
            parentheses += first == '(' ? 1 : -1;
        } else if (is_name_next && parentheses == 0 && first != '.') {
            name = word;
            is_name_next = false;
            if (is_launch_function(name)) facts.launches_kernels = true;
            if (is_external && part == function && !is_function_of_driver(name)) facts.doubt = other_image;
        } else if (first == ';') {
            is_external = false;
        } else if (word.starts_with("mma.") || word.find(".mma") != std::string_view::npos ||
                   (first == '.' && previous == "mma")) {
            formats |= formats_of(word);
        }
        previous = word;
    }
    end_part();
    return in_functions;
}

}  // namespace

bool is_function_of_driver(std::string_view name) {
    constexpr std::string_view names[] = {"vprintf", "malloc", "free", "__assertfail"};  // CUDA's system calls
    return std::ranges::find(names, name) != std::end(names) || name.starts_with("__cuda") ||
           is_launch_function(name);
}

bool is_launch_function(std::string_view name) {
    return (name.starts_with("__cuda") || name.starts_with("cuda")) && name.find("Launch") != std::string_view::npos;
}

void scan_ptx(std::string_view text, const KernelVisitor& visitor, ImageFacts& facts) {
    struct ScanContext {
        const KernelVisitor& visitor;
        ImageFacts& facts;
        TensorFormats in_functions;
    } context = {visitor, facts, 0};
    const KernelVisitor add_functions = {[](void* context, std::string_view name, TensorFormats formats) {
                                             auto& [visitor, facts, in_functions] =
                                                 *static_cast<ScanContext*>(context);
                                             facts.has_code = true;
                                             visitor.visit(visitor.context, name, formats | in_functions);
                                         },
                                         &context};
    context.in_functions = visit_kernels(text, facts, add_functions);
    if (context.in_functions != 0) visit_kernels(text, facts, add_functions);
}

}  // namespace fp32shim::record

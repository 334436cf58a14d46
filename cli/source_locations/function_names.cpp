#include "cli/source_locations/function_names.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

namespace fp32shim::cli {
namespace {

enum class Templates : bool { left_out, kept };

bool is_in_name(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_'; }

/// Returns the number of characters from the bracket with which `text` begins to the bracket that closes it.
std::size_t size_of_bracket(std::string_view text) {
    std::size_t depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '(' || text[i] == '<' || text[i] == '[' || text[i] == '{') ++depth;
        const bool is_arrow = text[i] == '>' && i > 0 && text[i - 1] == '-';
        if (text[i] == ')' || (text[i] == '>' && !is_arrow) || text[i] == ']' || text[i] == '}') --depth;
        if (depth == 0) return i + 1;
    }
    return text.size();
}

/// Returns the number of characters of an operator's name, such as `operator<<`, with which `text` begins, or 0 if it
/// begins with no such name. The name of a conversion (`operator float`) includes a type.
std::size_t size_of_operator(std::string_view text) {
    constexpr std::string_view word = "operator";
    if (!text.starts_with(word) || (text.size() > word.size() && is_in_name(text[word.size()]))) return 0;
    std::size_t end = word.size();
    if (text.substr(end).starts_with("()")) return end + 2;
    while (end < text.size() && text[end] != '(' && (text[end] != '<' || text[end - 1] != ' ')) ++end;
    while (text[end - 1] == ' ') --end;
    return end;
}

/// Returns true if `text` begins with a blank and the word `qualifier`, such as `const` after the parameters of a
/// function.
bool begins_with_qualifier(std::string_view text, std::string_view qualifier) {
    if (!text.starts_with(' ') || !text.substr(1).starts_with(qualifier)) return false;
    const std::string_view rest = text.substr(1 + qualifier.size());
    return rest.empty() || std::string_view(":& ").find(rest.front()) != std::string_view::npos;
}

/// Removes the parameters, the return type and the qualifiers after the parameters from the demangled name of a
/// function, and from the names of the functions that enclose it.
std::string without_parameters(std::string_view text, Templates templates) {
    constexpr std::string_view nameless = "(anonymous namespace)";
    std::string name;
    while (!text.empty()) {
        const bool begins_name = name.empty() || !is_in_name(name.back());
        std::size_t size = 1;
        bool is_kept = true;
        if (const std::size_t end = begins_name ? size_of_operator(text) : 0; end > 0) {
            size = end;
        } else if (text.starts_with(nameless)) {
            size = nameless.size();
        } else if (name.empty() && text.starts_with("(*")) {
            // The name of a function that returns a pointer to a function stands inside the return type, as in `void
            // (*pick(int))(char)`.
            text = text.substr(2, size_of_bracket(text) - 3);
            continue;
        } else if (text.front() == '(' || text.front() == '<' || text.front() == '[') {
            size = size_of_bracket(text);
            is_kept = text.front() == '<' && templates == Templates::kept;
        } else if (begins_with_qualifier(text, "const") || begins_with_qualifier(text, "volatile")) {
            size = text.find_first_of(":& ", 1);
            is_kept = false;
        } else if (text.front() == ' ') {
            if (!text.starts_with(" &") && !text.starts_with(" [") && !text.starts_with(" <")) name.clear();
            is_kept = false;
        } else if (text.front() == '&') {
            is_kept = false;
        }
        size = std::min(size, text.size());
        if (is_kept) name += text.substr(0, size);
        text.remove_prefix(size);
    }
    return name;
}

/// Returns the name of a C++ function, or an empty text if the symbol is not that of a C++ function.
std::string cpp_name(const std::string& symbol, Templates templates) {
    // Symbols that begin with _ZT or _ZG are tables, guards and similar data, and functions that the compiler made
    // for them.
    if (!symbol.starts_with("_Z") || symbol.starts_with("_ZT") || symbol.starts_with("_ZG")) return {};
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
    return status != 0 || text == nullptr ? std::string() : without_parameters(text.get(), templates);
}

/// Returns the name of the Fortran procedure that a symbol stands for, or an empty text for other symbols. The forms
/// are `__module_MOD_procedure` of gfortran, `module_mp_procedure_` of Intel Fortran, `_QMmodulePprocedure` of LLVM
/// Fortran, and `procedure_`.
std::string fortran_name(std::string_view symbol) {
    const auto split = [](std::string_view name, std::string_view mark) {
        const std::size_t end = name.find(mark);
        const bool has_mark = end != std::string_view::npos && end > 0 && end + mark.size() < name.size();
        return has_mark ? fmt::format("{}::{}", name.substr(0, end), name.substr(end + mark.size())) : std::string();
    };
    const auto is_lower = [](char letter) { return is_in_name(letter) && (letter < 'A' || letter > 'Z'); };
    if (symbol.starts_with("_Q")) {
        // Names are in lower case. The capital letter before a name tells its kind.
        std::string name;
        char kind = '\0';
        for (const char letter : symbol.substr(2)) {
            if (is_lower(letter) && kind != '\0') {
                name += letter;
                continue;
            }
            if (std::string_view("MSFP").find(letter) == std::string_view::npos) return {};
            if (kind != '\0') name += "::";
            kind = letter;
        }
        return kind == 'P' || kind == 'F' ? name : std::string();
    }
    if (symbol.starts_with("__")) return split(symbol.substr(2), "_MOD_");
    if (symbol.size() < 2 || !symbol.ends_with('_') || symbol.ends_with("__") || symbol.front() == '_' ||
        !std::ranges::all_of(symbol, is_lower))
        return {};
    symbol.remove_suffix(1);
    const std::string in_module = split(symbol, "_mp_");
    return in_module.empty() ? std::string(symbol) : in_module;
}

std::string_view without_version(std::string_view symbol) {
    const std::size_t position = symbol.find('@');
    return position == 0 ? symbol : symbol.substr(0, position);
}

std::string readable_name(std::string_view symbol, Templates templates) {
    symbol = without_version(symbol);
    const std::string plain(symbol.substr(0, symbol.size() - clone_suffix(symbol).size()));
    std::string name = cpp_name(plain, templates);
    if (name.empty()) name = fortran_name(plain);
    return name.empty() ? plain : name;
}

}  // namespace

std::string_view clone_suffix(std::string_view symbol) {
    symbol = without_version(symbol);
    const std::size_t module_end = symbol.starts_with("__") ? symbol.find("_MOD_") : std::string_view::npos;
    const std::size_t position = symbol.find('.', module_end == std::string_view::npos ? 1 : module_end);
    return position == std::string_view::npos ? std::string_view() : symbol.substr(position);
}

std::string function_name(std::string_view symbol) { return readable_name(symbol, Templates::left_out); }
std::string full_function_name(std::string_view symbol) { return readable_name(symbol, Templates::kept); }

}  // namespace fp32shim::cli

#include "shim/where/native/function_name.hpp"

#include <cstdint>
#include <utility>

#include "system/line_writer.hpp"

namespace fp32shim::where {
namespace {

constexpr bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
constexpr bool is_lower(char letter) { return letter >= 'a' && letter <= 'z'; }
constexpr bool is_in(char letter, std::string_view letters) { return letters.find(letter) != std::string_view::npos; }

constexpr std::pair<std::string_view, std::string_view> operators[] = {
    {"nw", " new"}, {"na", " new[]"}, {"dl", " delete"}, {"da", " delete[]"}, {"aw", " co_await"}, {"ps", "+"},
    {"ng", "-"},    {"ad", "&"},      {"de", "*"},       {"co", "~"},         {"pl", "+"},         {"mi", "-"},
    {"ml", "*"},    {"dv", "/"},      {"rm", "%"},       {"an", "&"},         {"or", "|"},         {"eo", "^"},
    {"aS", "="},    {"pL", "+="},     {"mI", "-="},      {"mL", "*="},        {"dV", "/="},        {"rM", "%="},
    {"aN", "&="},   {"oR", "|="},     {"eO", "^="},      {"ls", "<<"},        {"rs", ">>"},        {"lS", "<<="},
    {"rS", ">>="},  {"eq", "=="},     {"ne", "!="},      {"lt", "<"},         {"gt", ">"},         {"le", "<="},
    {"ge", ">="},   {"ss", "<=>"},    {"nt", "!"},       {"aa", "&&"},        {"oo", "||"},        {"pp", "++"},
    {"mm", "--"},   {"cm", ","},      {"pm", "->*"},     {"pt", "->"},        {"cl", "()"},        {"ix", "[]"}};

constexpr std::pair<char, std::string_view> abbreviations[] = {
    {'t', "std"},          {'a', "std::allocator"}, {'s', "std::string"},  {'b', "std::basic_string"},
    {'i', "std::istream"}, {'o', "std::ostream"},   {'d', "std::iostream"}};

/// Reads a mangled name (Itanium C++ ABI, "Mangling") from left to right, each letter once. Writes names of
/// functions; skips types, parameters and template arguments. Each function returns false if it meets a kind of name
/// that it does not know. The object must not be used after that.
class MangledName {
  public:
    /// `out` is nullptr if the name is only measured.
    MangledName(std::string_view text, system::LineWriter* out) : rest_(text), out_(out) {}

    /// Reads `_Z` and the name after it.
    bool read() { return consume("_Z") && name(); }
    std::string_view rest() const { return rest_; }

  private:
    /// Counts one level of nesting for the object's lifetime.
    struct Level {
        explicit Level(int& count) : count_(count) { ++count_; }
        ~Level() { --count_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;
        bool is_allowed() const { return count_ < 64; }
        int& count_;  // NOLINT(cppcoreguidelines-avoid-const-or-ref-data-members): the object does not outlive it
    };
    /// Turns off writing for the object's lifetime, to skip names.
    struct Silence {
        explicit Silence(MangledName& of) : of_(of), out_(std::exchange(of.out_, nullptr)) {}
        ~Silence() { of_.out_ = out_; }
        Silence(const Silence&) = delete;
        Silence& operator=(const Silence&) = delete;
        MangledName& of_;
        system::LineWriter* out_;
    };

    bool starts(std::string_view text) const { return rest_.starts_with(text); }
    char next() const { return rest_.empty() ? '\0' : rest_.front(); }
    bool consume(std::string_view text) {
        if (!starts(text)) return false;
        rest_.remove_prefix(text.size());
        return true;
    }
    bool write(std::string_view text) {
        if (out_ != nullptr) out_->text(text);
        return true;
    }

    bool digits(std::size_t& value) {
        if (!is_digit(next())) return false;
        for (value = 0; is_digit(next()) && value <= symbol_limit; rest_.remove_prefix(1))
            value = value * 10 + static_cast<std::size_t>(next() - '0');
        return value <= symbol_limit;
    }

    /// Reads `[number] _` and writes the ordinal, which is 1 if the number is missing.
    bool ordinal() {
        std::size_t value = 0;
        const bool has_number = digits(value);
        if (!consume("_")) return false;
        if (out_ != nullptr) out_->number(static_cast<std::int64_t>(has_number ? value + 2 : 1));
        return true;
    }

    bool source_name(std::string_view& found) {
        std::size_t size = 0;
        if (!digits(size) || size == 0 || size > rest_.size()) return false;
        found = rest_.substr(0, size);
        rest_.remove_prefix(size);
        if (found.starts_with("_GLOBAL__N")) found = "(anonymous namespace)";
        return true;
    }

    bool abi_tags() {
        std::string_view tag;
        while (consume("B"))
            if (!source_name(tag)) return false;
        return true;
    }

    bool closure_or_unnamed() {
        if (consume("Ut")) return write("{unnamed type#") && ordinal() && write("}");
        if (!consume("Ul")) return false;
        {
            const Silence silence(*this);
            if (!types_until_end()) return false;
        }
        return write("{lambda#") && ordinal() && write("}");
    }

    bool operator_name() {
        for (const auto& [code, text] : operators)
            if (consume(code)) return write("operator") && write(text);
        std::string_view suffix;
        if (consume("li")) return source_name(suffix) && write("operator\"\" ") && write(suffix);
        return false;
    }

    /// Reads a name without scope, and stores it in `last`. For a constructor, `last` is the name of its class.
    bool unqualified(std::string_view& last) {
        consume("L");  // internal linkage
        bool is_known = true;
        if (is_digit(next())) {
            is_known = source_name(last) && write(last);
        } else if ((next() == 'C' || next() == 'D') && rest_.size() > 1 && is_digit(rest_[1])) {
            if (last.empty()) return false;
            if (next() == 'D') write("~");
            rest_.remove_prefix(2);
            write(last);
        } else if (next() == 'U') {
            is_known = closure_or_unnamed();
        } else {
            is_known = operator_name();
        }
        return is_known && abi_tags();
    }

    /// Reads `S…`, a reference to an earlier part of this name. Such parts are not stored, so the reading fails if
    /// the part would have to be written.
    bool substitution(std::string_view& last) {
        if (!consume("S")) return false;
        for (const auto& [letter, text] : abbreviations) {
            if (next() != letter) continue;
            rest_.remove_prefix(1);
            last = text.substr(text.rfind(':') + 1);
            return write(text);
        }
        while (is_digit(next()) || (next() >= 'A' && next() <= 'Z')) rest_.remove_prefix(1);
        return consume("_") && out_ == nullptr;
    }

    bool nested_name() {
        while (is_in(next(), "rVKROH")) rest_.remove_prefix(1);
        std::string_view last;
        bool is_first = true;
        while (!consume("E")) {
            if (next() == 'I') {
                if (!template_arguments()) return false;
                continue;
            }
            if (consume("M")) continue;  // a closure that initializes the member named before
            if (!is_first) write("::");
            is_first = false;
            if (starts("Dt") || starts("DT") || next() == 'T') {
                if (out_ != nullptr || !type()) return false;
            } else if (next() == 'S') {
                if (!substitution(last)) return false;
            } else if (!unqualified(last)) {
                return false;
            }
        }
        return !is_first;
    }

    bool local_name() {
        if (!encoding_until_end()) return false;
        if (starts("s")) return false;  // a string literal
        std::size_t number = 0;
        if (consume("d")) {
            digits(number);
            if (!consume("_")) return false;
        }
        write("::");
        if (!name()) return false;
        if (consume("__")) return digits(number) && consume("_");
        if (consume("_")) return digits(number);
        return true;
    }

    bool name() {
        const Level level(depth_);
        if (!level.is_allowed()) return false;
        if (consume("N")) return nested_name();
        if (consume("Z")) return local_name();
        std::string_view last;
        if (consume("St")) {
            if (!write("std::") || !unqualified(last)) return false;
        } else if (next() == 'S') {
            if (!substitution(last)) return false;
        } else if (!unqualified(last)) {
            return false;
        }
        return next() != 'I' || template_arguments();
    }

    /// Reads a function with its parameters, up to and including an `E`. Writes the function's name.
    bool encoding_until_end() {
        if (!name()) return false;
        const Silence silence(*this);
        return types_until_end();
    }

    bool types_until_end() {
        while (!consume("E"))
            if (!type()) return false;
        return true;
    }

    bool literal() {
        if (consume("_Z")) return encoding_until_end();
        if (!type()) return false;
        while (is_digit(next()) || is_in(next(), "nabcdef_")) rest_.remove_prefix(1);
        return consume("E");
    }

    bool template_argument() {
        const Level level(depth_);
        if (!level.is_allowed()) return false;
        if (consume("L")) return literal();
        if (!consume("J")) return type();
        while (!consume("E"))
            if (!template_argument()) return false;
        return true;
    }

    bool template_arguments() {
        const Silence silence(*this);
        if (!consume("I")) return false;
        while (!consume("E"))
            if (!template_argument()) return false;
        return true;
    }

    /// Reads the rest of a type that begins with `D`.
    bool other_type() {
        std::size_t number = 0;
        if (consume("p") || consume("o")) return type();
        if (consume("w")) return types_until_end() && type();
        if (consume("v")) return digits(number) && consume("_") && type();
        if (consume("F")) return digits(number) && (consume("_") || consume("x") || consume("b"));
        if (consume("B") || consume("U")) return digits(number) && consume("_");
        if (!is_in(next(), "defhiusacnx")) return false;
        const bool is_before_function = is_in(next(), "x");
        rest_.remove_prefix(1);
        return !is_before_function || type();
    }

    bool class_or_enumeration() {
        std::string_view last;
        if (next() == 'S' && !starts("St")) {
            if (!substitution(last)) return false;
            return next() != 'I' || template_arguments();
        }
        return name();
    }

    bool type() {
        const Level level(depth_);
        if (!level.is_allowed()) return false;
        std::size_t number = 0;
        std::string_view vendor;
        if (is_in(next(), "PROCGKVr") && !rest_.empty()) {
            rest_.remove_prefix(1);
            return type();
        }
        if (consume("U")) return source_name(vendor) && (next() != 'I' || template_arguments()) && type();
        if (consume("D")) return other_type();
        if (consume("F")) {
            consume("Y");
            while (!consume("E"))
                if (!consume("RE") && !consume("OE")) {
                    if (!type()) return false;
                } else {
                    return true;
                }
            return true;
        }
        if (consume("A")) {
            digits(number);
            return consume("_") && type();
        }
        if (consume("M")) return type() && type();
        if (consume("T")) {
            digits(number);
            return consume("_") && (next() != 'I' || template_arguments());
        }
        if (consume("u")) return source_name(vendor) && (next() != 'I' || template_arguments());
        if (next() == 'N' || next() == 'Z' || next() == 'S' || is_digit(next())) return class_or_enumeration();
        if (!is_lower(next()) || is_in(next(), "kpqru")) return false;
        rest_.remove_prefix(1);
        return true;
    }

    std::string_view rest_;
    system::LineWriter* out_;
    int depth_ = 0;
};

/// Writes a name of gfortran's form `__module_MOD_procedure`. A submodule is `module.submodule`.
bool write_gfortran(std::string_view symbol, system::LineWriter& out) {
    constexpr std::string_view mark = "_MOD_";
    const std::size_t position = symbol.find(mark);
    if (!symbol.starts_with("__") || position == std::string_view::npos || position <= 2) return false;
    std::string_view procedure = symbol.substr(position + mark.size());
    procedure.remove_suffix(clone_suffix(symbol).size());
    if (procedure.empty()) return false;
    out.text(symbol.substr(2, position - 2)).text("::").text(procedure);
    return true;
}

/// Writes a name of LLVM Fortran's form `_QMmodulePprocedure`. Names are in lower case. A capital tells the kind of
/// the name after it: a module, a submodule, a host procedure or a procedure.
bool write_flang(std::string_view symbol, system::LineWriter& out) {
    if (!symbol.starts_with("_Q")) return false;
    bool is_first = true, is_procedure = false;
    for (std::size_t position = 2; position < symbol.size(); is_first = false) {
        if (!is_in(symbol[position], "MSFP")) return false;
        is_procedure = symbol[position] == 'P' || symbol[position] == 'F';
        std::size_t end = position + 1;
        while (end < symbol.size() && (is_lower(symbol[end]) || is_digit(symbol[end]) || symbol[end] == '_')) ++end;
        if (end == position + 1) return false;
        out.text(is_first ? "" : "::").text(symbol.substr(position + 1, end - position - 1));
        position = end;
    }
    return is_procedure;
}

/// Writes `solve_` as `solve`, and Intel Fortran's `module_mp_solve_` as `module::solve`.
bool write_underscored(std::string_view symbol, system::LineWriter& out) {
    if (symbol.size() < 2 || !symbol.ends_with('_') || !is_lower(symbol.front())) return false;
    symbol.remove_suffix(1);
    if (symbol.ends_with('_')) return false;
    for (const char letter : symbol)
        if (!is_lower(letter) && !is_digit(letter) && letter != '_') return false;
    constexpr std::string_view mark = "_mp_";
    const std::size_t position = symbol.find(mark);
    if (position != std::string_view::npos && position > 0 && position + mark.size() < symbol.size())
        out.text(symbol.substr(0, position)).text("::").text(symbol.substr(position + mark.size()));
    else
        out.text(symbol);
    return true;
}

std::string_view without_version(std::string_view symbol) {
    const std::size_t position = symbol.find('@');
    return position == 0 ? symbol : symbol.substr(0, position);
}

}  // namespace

std::string_view mangled_function(std::string_view symbol) {
    if (symbol.size() > symbol_limit) return {};
    MangledName name(symbol, nullptr);
    if (!name.read()) return {};
    return symbol.substr(0, symbol.size() - name.rest().size());
}

std::string_view clone_suffix(std::string_view symbol) {
    symbol = without_version(symbol);
    const std::size_t module_end = symbol.starts_with("__") ? symbol.find("_MOD_") : std::string_view::npos;
    const std::size_t position = symbol.find('.', module_end == std::string_view::npos ? 1 : module_end);
    return position == std::string_view::npos ? std::string_view() : symbol.substr(position);
}

std::string_view function_name(std::string_view symbol, std::span<char> buffer) {
    symbol = without_version(symbol);
    if (symbol.size() > symbol_limit) return symbol;
    const std::string_view plain = symbol.substr(0, symbol.size() - clone_suffix(symbol).size());
    for (const auto write : {+[](std::string_view text, system::LineWriter&out) {
                                 return text.starts_with("_Z") && MangledName(text, &out).read();
                             },
                             write_flang, write_underscored}) {
        system::LineWriter out(buffer);
        if (write(plain, out)) return out.overflowed() ? plain : out.view();
    }
    system::LineWriter out(buffer);
    if (write_gfortran(symbol, out) && !out.overflowed()) return out.view();
    return plain;
}

}  // namespace fp32shim::where

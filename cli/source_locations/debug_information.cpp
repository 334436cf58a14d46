#include "cli/source_locations/debug_information.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "cli/source_locations/function_names.hpp"

namespace fp32shim::cli {
namespace {

bool load_functions(Libdw& functions) {
    void* library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    bool is_whole = true;
    const auto find = [&]<class Function>(Function& function, const char* name) {
        function = reinterpret_cast<Function>(dlsym(library, name));
        is_whole = is_whole && function != nullptr;
    };
#define FP32SHIM_LIBDW_FIND(name) find(functions.name, #name);
    FP32SHIM_LIBDW_FUNCTIONS(FP32SHIM_LIBDW_FIND)
#undef FP32SHIM_LIBDW_FIND
    return is_whole;
}

constexpr int depth_limit = 200;
constexpr std::size_t frame_limit = 100;

const Dwfl_Callbacks* callbacks(const Libdw& libdw) {
    static const Dwfl_Callbacks all = [&] {
        Dwfl_Callbacks result = {};
        result.find_debuginfo = libdw.dwfl_standard_find_debuginfo;
        result.section_address = libdw.dwfl_offline_section_address;
        return result;
    }();
    return &all;
}

bool is_fortran(std::uint64_t language) {
    return language == DW_LANG_Fortran77 || language == DW_LANG_Fortran90 || language == DW_LANG_Fortran95 ||
           language == DW_LANG_Fortran03 || language == DW_LANG_Fortran08;
}

/// Returns true for tags of DWARF entries that are no functions themselves but may contain functions.
bool may_contain_functions(int tag) {
    return tag == DW_TAG_lexical_block || tag == DW_TAG_namespace || tag == DW_TAG_module ||
           tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_try_block ||
           tag == DW_TAG_catch_block;
}

}  // namespace

const Libdw* load_libdw() {
    static Libdw functions;
    static const bool is_there = load_functions(functions);
    return is_there ? &functions : nullptr;
}

DebugInformation::DebugInformation(const Libdw& libdw, const std::string& path)
    : libdw_(libdw), session_(libdw.dwfl_begin(callbacks(libdw)), libdw.dwfl_end) {
    open_file(path);
    if (problem_.empty()) index_units();
}

void DebugInformation::open_file(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (session_ != nullptr && file >= 0) {
        libdw_.dwfl_report_begin(session_.get());
        // The base 0 is added to the addresses in the file, so that all results are the file's own addresses.
        module_ = libdw_.dwfl_report_elf(session_.get(), "", path.c_str(), file, 0, true);
        libdw_.dwfl_report_end(session_.get(), nullptr, nullptr);
    }
    if (module_ == nullptr && file >= 0) close(file);
    if (module_ != nullptr && libdw_.dwfl_module_getdwarf(module_, &bias_) != nullptr) return;
    const char* message = libdw_.dwfl_errmsg(-1);
    const std::string_view text = message == nullptr ? "" : message;
    problem_ = module_ != nullptr && text == "No DWARF information found"
                   ? "has no debug information"
                   : fmt::format("has debug information that cannot be read: {}", text);
}

void DebugInformation::index_units() {
    Dwarf* const dwarf = libdw_.dwfl_module_getdwarf(module_, &bias_);
    Dwarf_CU* unit = nullptr;
    Dwarf_Half version = 0;
    std::uint8_t type = 0;
    Dwarf_Die entry = {};
    while (libdw_.dwarf_get_units(dwarf, unit, &unit, &version, &type, &entry, nullptr) == 0) {
        if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
        add_ranges(entry, static_cast<std::uint32_t>(units_.size()), units_by_address_);
        units_.push_back({.lines = entry, .all = {}, .by_address = {}});
    }
    units_by_address_.build_index();
}

void DebugInformation::add_ranges(Dwarf_Die& entry, std::uint32_t number, AddressMap& map) const {
    Dwarf_Addr base = 0, begin = 0, end = 0;
    std::ptrdiff_t next = 0;
    while ((next = libdw_.dwarf_ranges(&entry, next, &base, &begin, &end)) > 0) map.add_range(begin, end, number);
}

void DebugInformation::read_unit(CompilationUnit& unit) {
    unit.is_read = true;
    Dwarf_Half version = 0;
    std::uint8_t type = 0;
    unit.functions = unit.lines;
    Dwarf_Die split = {};
    if (libdw_.dwarf_cu_info(unit.lines.cu, &version, &type, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
        type == DW_UT_skeleton && libdw_.dwarf_tag(&split) == DW_TAG_compile_unit)
        unit.functions = split;
    read_functions(unit, unit.functions, no_function, 0);
    unit.by_address.build_index();
}

void DebugInformation::read_functions(CompilationUnit& unit, Dwarf_Die& parent, std::uint32_t outer, int depth) {
    Dwarf_Die entry = {};
    if (depth >= depth_limit || libdw_.dwarf_child(&parent, &entry) != 0) return;
    do {
        const int tag = libdw_.dwarf_tag(&entry);
        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
            read_function(unit, entry, tag == DW_TAG_inlined_subroutine, outer, depth);
        else if (may_contain_functions(tag))
            read_functions(unit, entry, outer, depth + 1);
    } while (libdw_.dwarf_siblingof(&entry, &entry) == 0);
}

/// Adds a function to `unit` if the function has code. Also adds all functions inside it.
void DebugInformation::read_function(CompilationUnit& unit, Dwarf_Die& entry, bool is_inlined, std::uint32_t outer,
                                     int depth) {
    Dwarf_Attribute attribute = {};
    std::uint32_t number = no_function;
    if (libdw_.dwarf_attr(&entry, DW_AT_low_pc, &attribute) != nullptr ||
        libdw_.dwarf_attr(&entry, DW_AT_ranges, &attribute) != nullptr) {
        number = static_cast<std::uint32_t>(unit.all.size());
        add_ranges(entry, number, unit.by_address);
        unit.all.push_back({entry, is_inlined ? outer : no_function, is_inlined});
    }
    read_functions(unit, entry, number, depth + 1);
}

void DebugInformation::find_location(std::uint64_t address, SourceLocation& location) {
    location.why_unknown = problem_;
    if (!problem_.empty()) return;
    address -= bias_;
    const auto number = units_by_address_.value_at(address);
    location.why_unknown = "has no debug information for this place";
    if (!number) return;
    CompilationUnit& unit = units_[*number];
    if (!unit.is_read) read_unit(unit);
    SourcePosition position = position_of(unit, address);
    std::uint32_t function = unit.by_address.value_at(address).value_or(no_function);
    if (function == no_function && position.file.empty()) return;
    location.why_unknown.clear();
    if (function == no_function) location.frames.push_back({{}, std::move(position.file), position.line, false});
    while (function != no_function && location.frames.size() < frame_limit) {
        FunctionCode& known = unit.all[function];
        location.frames.push_back(
            {function_name_of(known.entry), std::move(position.file), position.line, known.is_inlined});
        if (known.is_inlined) position = position_of_call(unit, known.entry);
        function = known.outer;
    }
}

DebugInformation::SourcePosition DebugInformation::position_of(CompilationUnit& unit, std::uint64_t address) {
    Dwarf_Line* const line = libdw_.dwarf_getsrc_die(&unit.lines, address);
    SourcePosition position;
    if (line == nullptr) return position;
    if (const char* file = libdw_.dwarf_linesrc(line, nullptr, nullptr))
        position.file = absolute_source_path(unit, file);
    libdw_.dwarf_lineno(line, &position.line);
    return position;
}

/// Returns the position in the source at which an inlined function was called.
DebugInformation::SourcePosition DebugInformation::position_of_call(CompilationUnit& unit, Dwarf_Die& inlined) {
    SourcePosition position;
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    const auto file = number_attribute(inlined, DW_AT_call_file);
    if (file && libdw_.dwarf_getsrcfiles(&unit.functions, &files, &count) == 0 && *file < count)
        if (const char* path = libdw_.dwarf_filesrc(files, *file, nullptr, nullptr))
            position.file = absolute_source_path(unit, path);
    const std::uint64_t line = number_attribute(inlined, DW_AT_call_line).value_or(0);
    position.line = line <= INT_MAX ? static_cast<int>(line) : 0;
    return position;
}

/// Returns the path of a source file without `.` and `..`. A relative path is completed with the folder in which the
/// compiler was run.
const std::string& DebugInformation::absolute_source_path(CompilationUnit& unit, const char* file) {
    const auto [known, is_new] = paths_.try_emplace({unit.lines.addr, file});
    if (is_new) {
        const char* folder = string_attribute(unit.lines, DW_AT_comp_dir);
        const std::filesystem::path path = std::filesystem::path(folder == nullptr ? "" : folder) / file;
        known->second = path.lexically_normal().string();
    }
    return known->second;
}

/// Returns the name of a function. The name of an inlined copy is that of the original function.
const std::string& DebugInformation::function_name_of(Dwarf_Die entry) {
    Dwarf_Attribute attribute = {};
    Dwarf_Die origin = {};
    for (int i = 0; i < depth_limit && libdw_.dwarf_attr(&entry, DW_AT_abstract_origin, &attribute) != nullptr &&
                    libdw_.dwarf_formref_die(&attribute, &origin) != nullptr;
         ++i)
        entry = origin;
    const auto [known, is_new] = names_.try_emplace(entry.addr);
    std::string& name =
        known->second;  // this reference stays valid when names of enclosing functions are added to the map
    if (is_new) name = build_function_name(entry);
    return name;
}

std::string DebugInformation::build_function_name(Dwarf_Die& entry) {
    for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
        if (const char* symbol = string_attribute(entry, attribute))
            if (std::string name = full_function_name(symbol); !name.starts_with("_Z")) return name;
    const char* name = string_attribute(entry, DW_AT_name);
    if (name == nullptr) return {};
    return name[0] == '_' && name[1] == 'Z' ? full_function_name(name) : name_with_scopes(entry, name);
}

/// Returns a name with the names of its enclosing namespaces, classes or modules. Names of enclosing functions are
/// included for inner procedures of Fortran, and for closures, whose only function is `operator()`.
std::string DebugInformation::name_with_scopes(Dwarf_Die& entry, const char* name) {
    std::string result = name;
    Dwarf_Attribute attribute = {};
    Dwarf_Die declaration = entry;
    if (libdw_.dwarf_attr(&entry, DW_AT_specification, &attribute) != nullptr)
        libdw_.dwarf_formref_die(&attribute, &declaration);
    Dwarf_Die* found = nullptr;
    const int count = libdw_.dwarf_getscopes_die(&declaration, &found);
    const std::unique_ptr<Dwarf_Die, decltype(&std::free)> scopes(found, &std::free);
    if (count <= 1) return result;
    bool has_inner_functions = is_fortran(number_attribute(found[count - 1], DW_AT_language).value_or(0));
    for (int i = 1; i < std::min(count, depth_limit); ++i) {
        const int tag = libdw_.dwarf_tag(&found[i]);
        if (tag == DW_TAG_subprogram && has_inner_functions) return function_name_of(found[i]) + "::" + result;
        if (tag != DW_TAG_subprogram && !may_contain_functions(tag)) continue;
        const char* scope = string_attribute(found[i], DW_AT_name);
        if (tag == DW_TAG_namespace && scope == nullptr) scope = "(anonymous namespace)";
        const bool is_class = tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
        if (is_class && (scope == nullptr || std::string_view(scope).starts_with("<lambda"))) {
            scope = "{lambda}";
            has_inner_functions = true;
        }
        if (tag != DW_TAG_subprogram && scope != nullptr) result.insert(0, std::string(scope) + "::");
    }
    return result;
}

const char* DebugInformation::string_attribute(Dwarf_Die& entry, unsigned attribute) const {
    Dwarf_Attribute found = {};
    if (libdw_.dwarf_attr_integrate(&entry, attribute, &found) == nullptr) return nullptr;
    return libdw_.dwarf_formstring(&found);
}

std::optional<std::uint64_t> DebugInformation::number_attribute(Dwarf_Die& entry, unsigned attribute) const {
    Dwarf_Attribute found = {};
    Dwarf_Word value = 0;
    if (libdw_.dwarf_attr(&entry, attribute, &found) == nullptr || libdw_.dwarf_formudata(&found, &value) != 0)
        return std::nullopt;
    return value;
}

SymbolTable DebugInformation::separate_symbols() {
    SymbolTable table;
    table.names.push_back('\0');
    if (module_ == nullptr) return table;
    const int count = libdw_.dwfl_module_getsymtab(module_);
    for (int i = 1; i < count; ++i) {
        GElf_Sym symbol = {};
        GElf_Addr address = 0;
        const char* name = libdw_.dwfl_module_getsym_info(module_, i, &symbol, &address, nullptr, nullptr, nullptr);
        if (name == nullptr) continue;
        symbol.st_value = address;
        symbol.st_name = static_cast<Elf64_Word>(table.names.size());
        for (const char* letter = name; *letter != '\0'; ++letter) table.names.push_back(*letter);
        table.names.push_back('\0');
        table.symbols.push_back(symbol);
    }
    return table;
}

}  // namespace fp32shim::cli

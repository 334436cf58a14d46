#include "record/log_path.hpp"

#include "system/line_writer.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::record {

namespace {

void append_as_file_name(system::LineWriter& out, std::string_view value) {
    if (value.empty()) value = "none";
    bool first = true;
    for (const char letter : value) {
        const bool plain = (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z') ||
                           (letter >= '0' && letter <= '9') || letter == '_' || letter == '-' ||
                           (letter == '.' && !first);
        out.text({plain ? &letter : "_", 1});
        first = false;
    }
}

}  // namespace

std::string_view make_absolute_name(std::string_view name, std::span<char> out, std::span<char> scratch) {
    system::LineWriter writer(out);
    if (!name.starts_with('/')) {
        const long size = system::raw::getcwd(scratch.data(), scratch.size());
        if (size > 1 && scratch[0] == '/') {  // otherwise the current folder has no path (the text begins with
                                              // "(unreachable)"), so the name stays relative
            for (const char& letter : scratch.first(static_cast<std::size_t>(size) - 1))
                writer.text(letter == '%' ? std::string_view("%%") : std::string_view(&letter, 1));
            writer.text("/");
        }
    }
    return writer.text(name).nul_terminated();
}

ExpandedPath expand_path(std::string_view name, const LogNameFacts& facts, std::span<char> buffer) {
    system::LineWriter out(buffer);
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] != '%') {
            out.text(name.substr(i, 1));
            continue;
        }
        const char placeholder = ++i < name.size() ? name[i] : '\0';
        switch (placeholder) {
            case 'p':
                out.number(facts.pid);
                break;
            case 'h':
                append_as_file_name(out, facts.host);
                break;
            case 'r':
                if (facts.rank < 0)
                    out.text("none");
                else
                    out.number(facts.rank);
                break;
            case 'j':
                append_as_file_name(out, facts.job_id);
                break;
            case 't':
                out.compact_utc_time(facts.start_ns);
                break;
            case '%':
                out.text("%");
                break;
            default:
                return {{}, PathProblem::unknown_placeholder, placeholder};
        }
    }
    const std::string_view path = out.nul_terminated();
    return {path, out.overflowed() ? PathProblem::too_long : PathProblem::none, 0};
}

std::string describe_path_problem(const ExpandedPath& path) {
    if (path.problem == PathProblem::too_long)
        return "the path is longer than " + std::to_string(path_capacity - 1) + " bytes; name a shorter one";
    const std::string found = path.placeholder == 0 ? "a `%` at its end" : std::string("`%") + path.placeholder + "`";
    return found +
           " is not a placeholder; allowed are %p (process id), %h (host), %r (rank), %j (job), "
           "%t (start time) and %% (a percent sign)";
}

bool has_placeholder(std::string_view name, char letter) {
    for (std::size_t i = 0; i + 1 < name.size(); ++i) {
        if (name[i] != '%') continue;
        if (name[i + 1] == letter) return true;
        ++i;
    }
    return false;
}

}  // namespace fp32shim::record

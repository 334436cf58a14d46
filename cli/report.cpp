// fp32shim report: what recordings say, merged.
#include <unistd.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/filter.hpp"
#include "cli/options.hpp"
#include "cli/recordings.hpp"
#include "cli/report_formats.hpp"
#include "cli/report_html.hpp"
#include "cli/report_output.hpp"
#include "cli/report_timeline.hpp"
#include "cli/terminal.hpp"

namespace fp32shim::cli {
namespace {

struct ReportOptions {
    std::vector<std::string> recordings;
    std::string format, output, sort = "time";
    std::int64_t top = 10;
    Filter filter;
};

RowOrder order_of(const std::string& word) {
    if (word == "calls") return RowOrder::calls;
    return word == "flops" ? RowOrder::flops : RowOrder::time;
}

void write(const MergedCalls& calls, const Timeline& timeline, const std::vector<ReadingProblem>& problems,
           const ReportOptions& options, ReportOutput& output) {
    const RowOrder order = order_of(options.sort);
    if (options.format == "html") {
        output.put(report_html({calls, timeline, problems, order, !options.filter.is_empty()}));
    } else if (options.format == "json") {
        write_report_json(calls, output);
    } else if (options.format == "csv") {
        write_report_csv(calls, output);
    } else if (options.format == "prometheus") {
        output.put(report_prometheus(calls));
    } else {
        output.put(report_table(calls, {.sites = static_cast<std::size_t>(options.top), .order = order},
                                options.output.empty() ? STDOUT_FILENO : -1));
    }
}

int report(ReportOptions& options) {
    if (const std::string problem = options.filter.read(); !problem.empty()) {
        say("report", problem);
        return exit_code::usage;
    }
    const RecordingPaths found = find_recordings(options.recordings);
    if (say_errors("report", found)) return exit_code::usage;

    for (const auto* files : {&found.paths, &found.copies}) {
        if (const std::string problem = output_problem(options.output, *files); !problem.empty()) {
            say("report", problem);
            return exit_code::usage;
        }
    }

    MergedCalls calls(&options.filter, MergedCalls::Objects::left_out);
    Timeline timeline;
    const auto problems =
        visit_recordings(found.paths, [&](const std::string& path, record::RecordingReader& recording) {
            calls.add(path, recording);
            if (options.format == "html") timeline.add(recording, options.filter);
        });
    const bool is_damaged = say_problems("report", problems);
    if (calls.processes().empty()) return exit_code::finding;
    if (options.filter.looks_at_sizes()) {
        std::uint64_t folded = 0;
        for (const MergedRow& row : calls.rows()) folded += row.is_folded ? row.counters.calls : 0;
        if (folded > 0) say("report", folded_text(folded));
    }
    ReportOutput output(options.output);
    write(calls, timeline, problems, options, output);
    if (const std::string problem = output.finish(); !problem.empty()) {
        say("report", problem);
        return exit_code::usage;
    }
    return is_damaged ? exit_code::finding : exit_code::ok;
}

}  // namespace

Action define_report(CLI::App& app) {
    auto options = std::make_shared<ReportOptions>();
    app.add_option("RECORDING", options->recordings, "Recordings, folders with recordings, or globs")
        ->type_name("FILE")
        ->required();
    add_format(app, options->format, {"table", "json", "csv", "prometheus", "html"});
    add_name(app, "-o,--output", options->output, "FILE",
             "Write to this file instead of stdout, whole or not at all");
    add_choice(app, "--sort", options->sort, {"time", "calls", "flops"},
               "Order of rows in a table or page; time where not given");
    add_count(app, "--top", options->top, 0, "Rows of the table; 0: all");
    options->filter.declare(app);
    return [options] { return report(*options); };
}

}  // namespace fp32shim::cli

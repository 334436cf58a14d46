#include "cli/trials/audit_errors.hpp"

#include <algorithm>
#include <limits>

#include "cli/command_line/commands.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/recordings/row_audits.hpp"
#include "cli/trials/state.hpp"

namespace fp32shim::cli {

std::map<std::pair<std::string, GroupLocation>, double> audited_errors(const std::string& name,
                                                                       const std::vector<std::string>& recordings,
                                                                       TriedTypes types) {
    std::map<std::pair<std::string, GroupLocation>, double> errors;
    if (recordings.empty()) return errors;
    RecordedProductsReader reader;
    RecordingPaths paths = find_recordings(recordings);
    if (paths.errors.empty()) add_rest_of_runs(paths);
    if (print_errors(name, paths)) throw End{"--audits names no recording", exit_code::usage, true};
    const auto problems = visit_recordings(paths.paths, [&](const std::string&, record::RecordingReader& recording) {
        recording.visit_audits([&](const record::RecordedAudit& audit) {
            const record::RecordedRow* const row = recording.row(audit.row);
            if (row == nullptr || row->is_overflow || !are_tried(types, row->decision.call.dtype)) return true;
            if ((audit.audit.notes & record::audit_noise) != 0 || is_about_nonfinite(audit.audit)) return true;
            const double error = static_cast<double>(audit.audit.errors.by(policy::Metric::row));
            double& largest = errors[line_key(reader.group_of(*row, recording))];
            largest = std::max(largest, error >= 0 ? error : std::numeric_limits<double>::infinity());  // NaN too
            return true;
        });
    });
    print_problems(name, problems);
    return errors;
}

}  // namespace fp32shim::cli

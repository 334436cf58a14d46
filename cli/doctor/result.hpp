// All that `fp32shim doctor` found, and how it is written: as text, and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/doctor/blas.hpp"
#include "cli/doctor/machine.hpp"
#include "cli/doctor/program.hpp"
#include "cli/doctor/settings.hpp"
#include "cli/output/json.hpp"

namespace fp32shim::cli {

struct DoctorResult {
    Processor processor;
    Gpus gpus;
    std::vector<BlasLibrary> libraries;
    Settings settings;
    std::optional<ExaminedProgram> program;
    std::vector<Finding> findings;  ///< of the machine, the settings, and the program
    std::vector<std::string> seen;  ///< what of the program will be seen, one line each
    std::vector<Finding> not_seen;  ///< what of it will not
};

/// Fills `findings`, `seen` and `not_seen` from the rest.
void judge(DoctorResult& result);

/// An exit code: finding where anything was found or is not seen, inconclusive where the program was not observed.
int exit_code_of(const DoctorResult& result);

std::string doctor_text(const DoctorResult& result);
Json doctor_json(const DoctorResult& result);

}  // namespace fp32shim::cli

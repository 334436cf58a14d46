// Defines the result of `fp32shim doctor`, and declares the functions that complete it and print it as text and JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/doctor/blas.hpp"
#include "cli/doctor/machine.hpp"
#include "cli/doctor/program.hpp"
#include "cli/doctor/settings.hpp"
#include "cli/output/json_fwd.hpp"

namespace fp32shim::cli {

/// All results and conclusions of `doctor`.
struct DoctorResult {
    Processor processor;
    GpuInventory gpus;
    std::vector<BlasLibrary> libraries;
    ExaminedSettings settings;
    std::optional<ExaminedProgram> program;
    std::vector<Finding> findings;  ///< findings about the machine, the settings and the program
    std::vector<std::string> seen;  ///< products of the program that the shim will see, one line each
    std::vector<Finding> not_seen;  ///< products of the program that the shim will not see
};

/// Fills `findings`, `seen` and `not_seen` from the other members. Also tries to load the library that `run`
/// preloads.
void judge_program_and_machine(DoctorResult& result);

/// Returns exit_code::inconclusive if the program was not observed, exit_code::finding if there are findings or
/// unseen products, and otherwise exit_code::ok.
int exit_code_of(const DoctorResult& result);

std::string doctor_text(const DoctorResult& result);
Json doctor_json(const DoctorResult& result);

}  // namespace fp32shim::cli

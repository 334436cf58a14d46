// Converts the result of `fp32shim doctor` to JSON. The number "schema" changes if a key changes its meaning or is
// removed.
#include "cli/output/json.hpp"
#include "cli/doctor/result.hpp"
#include "system/cpu_features.hpp"

namespace fp32shim::cli {

// nlohmann-json finds these overloads of `to_json` by the type of a value and calls them, even for elements of
// vectors.

static void to_json(Json& json, const Finding& finding) {
    json = {{"about", finding.about}, {"message", finding.message}, {"remedy", text_or_null(finding.remedy)}};
}

static void to_json(Json& json, const Processor& processor) {
    Json features = Json::object();
    for (const auto& [name, is_there] : processor.features) features[name] = is_there;
    json = {{"architecture", processor.architecture},
            {"model", text_or_null(processor.model)},
            {"cores", processor.cores},
            {"features", features}};
}

static void to_json(Json& json, const Gpu& gpu) {
    json = {{"name", gpu.name}, {"compute_capability", gpu.compute_capability}, {"memory_gib", gpu.memory_gib}};
}

static void to_json(Json& json, const GpuInventory& gpus) {
    json = {{"problem", text_or_null(gpus.problem)},
            {"driver", text_or_null(gpus.driver)},
            {"cuda", text_or_null(gpus.cuda)},
            {"devices", gpus.devices}};
}

static void to_json(Json& json, const BlasLibrary& library) {
    json = {{"name", library.soname},
            {"path", library.path},
            {"file", library.file},
            {"implementation", library.implementation},
            {"version", text_or_null(library.version)},
            {"kernels", text_or_null(library.kernels)},
            {"problem", text_or_null(library.problem)}};
}

static void to_json(Json& json, const PreloadEntry& preload) {
    json = {{"entry", preload.entry}, {"file", text_or_null(preload.file)}, {"is_shim", preload.is_shim}};
}

static void to_json(Json& json, const ExaminedSettings& settings) {
    const policy::Policy& policy = settings.loaded.policy;
    const system::InstructionLevel* const level = system::chosen_level.load();
    json = {{"disabled", policy.disabled},
            {"precision", policy::to_string(policy.default_precision)},
            {"source", policy::to_string(policy.default_source)},
            {"floor", policy::to_string(policy.floor)},
            {"cpu_mode", policy::to_string(policy.cpu_mode)},
            {"instructions", level == nullptr ? Json() : Json(level->word)},
            {"on_error", policy::to_string(policy.on_error)},
            {"log", text_or_null(policy.log_path)},
            {"policy",
             {{"file", text_or_null(policy.file)},
              {"name", text_or_null(policy.name)},
              {"revision", text_or_null(policy.revision)},
              {"sha256", text_or_null(policy.sha256)},
              {"rules", policy.rules.size()}}},
            {"preloads", settings.preloads}};
}

static void to_json(Json& json, const LibraryCalls& calls) {
    json = {{"caller", calls.caller},
            {"provider", calls.provider},
            {"family", calls.family},
            {"functions", calls.functions},
            {"seen", calls.why.empty()},
            {"why", text_or_null(calls.why)},
            {"remedy", text_or_null(calls.remedy)},
            {"package", text_or_null(calls.package)},
            {"library", calls.library.path.empty() ? Json() : Json(calls.library)}};
}

static void to_json(Json& json, const Bypass& bypass) {
    json = {{"name", bypass.title},
            {"object", bypass.object},
            {"device", bypass.device},
            {"message", bypass.message},
            {"remedy", text_or_null(bypass.remedy)}};
}

static void to_json(Json& json, const FileNote& note) { json = {{"about", note.about}, {"message", note.message}}; }

static void to_json(Json& json, const BoundSymbol& bound) {
    json = {{"caller", bound.caller}, {"provider", bound.provider}, {"symbol", bound.symbol}};
}

static void to_json(Json& json, const ExaminedProcess& process) {
    json = {{"pid", process.pid},           {"program", process.program},      {"objects", process.objects},
            {"calls", process.calls},       {"bypasses", process.bypasses},    {"notes", process.notes},
            {"bindings", process.bindings}, {"unreadable", process.unreadable}};
}

static void to_json(Json& json, const ExaminedProgram& program) {
    const bool has_ended = program.was_run && program.ended.exec_error == 0;
    json = {{"path", program.path},
            {"why_unseen", text_or_null(program.why_unseen)},
            {"not_observed", text_or_null(program.not_observed)},
            {"was_run", program.was_run},
            {"exit_status", has_ended && program.ended.signal == 0 ? Json(program.ended.exit_status) : Json()},
            {"signal", has_ended && program.ended.signal != 0 ? Json(program.ended.signal) : Json()},
            {"processes", program.processes}};
}

Json doctor_json(const DoctorResult& result) {
    return {{"schema", 1},
            {"processor", result.processor},
            {"gpus", result.gpus},
            {"blas_libraries", result.libraries},
            {"settings", result.settings},
            {"program", result.program ? Json(*result.program) : Json()},
            {"seen", result.seen},
            {"not_seen", result.not_seen},
            {"findings", result.findings}};
}

}  // namespace fp32shim::cli

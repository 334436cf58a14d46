// What `fp32shim doctor` found, for programs. "schema" changes where a key changes its meaning or goes away.
#include "cli/doctor/result.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

Json json_of(const std::vector<Finding>& findings) {
    Json list = Json::array();
    for (const Finding& finding : findings) {
        list.push_back(
            {{"about", finding.about}, {"message", finding.message}, {"remedy", text_or_null(finding.remedy)}});
    }
    return list;
}

Json json_of(const Processor& processor) {
    Json features = Json::object();
    for (const auto& [name, is_there] : processor.features) features[name] = is_there;
    return {{"architecture", processor.architecture},
            {"model", text_or_null(processor.model)},
            {"cores", processor.cores},
            {"features", features}};
}

Json json_of(const Gpus& gpus) {
    Json devices = Json::array();
    for (const Gpu& gpu : gpus.devices) {
        devices.push_back(
            {{"name", gpu.name}, {"compute_capability", gpu.compute_capability}, {"memory_gib", gpu.memory_gib}});
    }
    return {{"problem", text_or_null(gpus.problem)},
            {"driver", text_or_null(gpus.driver)},
            {"cuda", text_or_null(gpus.cuda)},
            {"devices", devices}};
}

Json json_of(const BlasLibrary& library) {
    return {{"name", library.soname},
            {"path", library.path},
            {"file", library.file},
            {"implementation", library.implementation},
            {"version", text_or_null(library.version)},
            {"kernels", text_or_null(library.kernels)},
            {"problem", text_or_null(library.problem)}};
}

Json json_of(const Settings& settings) {
    const policy::Policy& policy = settings.loaded.policy;
    Json preloads = Json::array();
    for (const Preload& preload : settings.preloads) {
        preloads.push_back(
            {{"entry", preload.entry}, {"file", text_or_null(preload.file)}, {"is_shim", preload.is_shim}});
    }
    return {{"disabled", policy.disabled},
            {"precision", policy::to_string(policy.default_precision)},
            {"source", policy::to_string(policy.default_source)},
            {"floor", policy::to_string(policy.floor)},
            {"cpu_mode", policy::to_string(policy.cpu_mode)},
            {"on_error", policy::to_string(policy.on_error)},
            {"log", text_or_null(policy.log_path)},
            {"policy",
             {{"file", text_or_null(policy.file)},
              {"name", text_or_null(policy.name)},
              {"revision", text_or_null(policy.revision)},
              {"sha256", text_or_null(policy.sha256)},
              {"rules", policy.rules.size()}}},
            {"preloads", preloads}};
}

Json json_of(const Calls& calls) {
    return {{"caller", calls.caller},
            {"provider", calls.provider},
            {"family", calls.family},
            {"functions", calls.functions},
            {"seen", calls.seen},
            {"why", text_or_null(calls.why)},
            {"remedy", text_or_null(calls.remedy)},
            {"package", text_or_null(calls.package)},
            {"library", calls.library.path.empty() ? Json() : json_of(calls.library)}};
}

Json json_of(const ExaminedProcess& process) {
    Json calls = Json::array();
    for (const Calls& entry : process.calls) calls.push_back(json_of(entry));
    Json roads = Json::array();
    for (const Road& road : process.roads) {
        roads.push_back({{"name", road.name},
                         {"object", road.object},
                         {"device", road.device},
                         {"message", road.message},
                         {"remedy", text_or_null(road.remedy)}});
    }
    Json notes = Json::array();
    for (const Note& note : process.notes) notes.push_back({{"about", note.about}, {"message", note.message}});
    Json bindings = Json::array();
    for (const BoundSymbol& bound : process.bindings) {
        bindings.push_back({{"caller", bound.caller}, {"provider", bound.provider}, {"symbol", bound.symbol}});
    }
    return {{"pid", process.pid},
            {"program", process.program},
            {"objects", process.objects},
            {"calls", calls},
            {"roads", roads},
            {"notes", notes},
            {"bindings", bindings},
            {"unreadable", process.unreadable}};
}

Json json_of(const ExaminedProgram& program) {
    Json processes = Json::array();
    for (const ExaminedProcess& process : program.processes) processes.push_back(json_of(process));
    const bool has_ended = program.was_run && program.ended.exec_error == 0;
    return {{"path", program.path},
            {"why_unseen", text_or_null(program.why_unseen)},
            {"not_observed", text_or_null(program.not_observed)},
            {"was_run", program.was_run},
            {"exit_status", has_ended && program.ended.signal == 0 ? Json(program.ended.exit_status) : Json()},
            {"signal", has_ended && program.ended.signal != 0 ? Json(program.ended.signal) : Json()},
            {"processes", processes}};
}

}  // namespace

Json doctor_json(const DoctorResult& result) {
    Json libraries = Json::array();
    for (const BlasLibrary& library : result.libraries) libraries.push_back(json_of(library));
    return {{"schema", 1},
            {"processor", json_of(result.processor)},
            {"gpus", json_of(result.gpus)},
            {"blas_libraries", libraries},
            {"settings", json_of(result.settings)},
            {"program", result.program ? json_of(*result.program) : Json()},
            {"seen", result.seen},
            {"not_seen", json_of(result.not_seen)},
            {"findings", json_of(result.findings)}};
}

}  // namespace fp32shim::cli

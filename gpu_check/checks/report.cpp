#include "gpu_check/checks/report.hpp"

#include <gnu/libc-version.h>
#include <pwd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "policy/sha256.hpp"

namespace gpu {
namespace {

using nlohmann::json;

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream content;
    content << file.rdbuf();
    return content.str();
}

std::string checksum_of(const std::string& path) {
    const std::string content = content_of(path);
    return content.empty() ? "unknown" : fp32shim::policy::sha256(content);
}

/// Returns the version of NVIDIA's kernel module, such as 580.159.04; "unknown" if this system does not show the
/// version.
std::string version_of_driver() {
    std::istringstream words(content_of("/proc/driver/nvidia/version"));
    for (std::string word; words >> word;) {
        const bool is_version = std::ranges::count(word, '.') >= 1 && std::ranges::all_of(word, [](unsigned char c) {
                                    return std::isdigit(c) != 0 || c == '.';
                                });
        if (is_version) return word;
    }
    return "unknown";
}

std::string processor() {
    std::istringstream lines(content_of("/proc/cpuinfo"));
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
    return "unknown";
}

void replace_all(std::string& text, const std::string& word, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
        text.replace(at, word.size(), by);
}

/// Returns the names of this machine and its user. Leaves out short names, because they might occur inside ordinary
/// words.
std::vector<std::string> private_names() {
    std::vector<std::string> names;
    utsname system{};
    if (uname(&system) == 0) names.emplace_back(system.nodename);
    if (const passwd* const user = getpwuid(getuid()); user != nullptr && getuid() != 0)
        names.emplace_back(user->pw_name);
    for (const char* const variable : {"USER", "LOGNAME", "HOSTNAME"})
        if (const char* const value = std::getenv(variable); value != nullptr) names.emplace_back(value);
    std::erase_if(names,
                  [](const std::string& name) { return name.size() < 4 || name == "root" || name == "localhost"; });
    return names;
}

}  // namespace

json describe_tool(const MeasurementSettings& settings) {
    return {{"version", FP32SHIM_VERSION},
            {"sha256_of_library", checksum_of(settings.shim)},
            {"sha256_of_program", checksum_of("/proc/self/exe")}};
}

json describe_system() {
    utsname system{};
    uname(&system);
    return {{"kernel", std::string(system.sysname) + " " + system.release},
            {"architecture", system.machine},
            {"glibc", gnu_get_libc_version()},
            {"processor", processor()},
            {"processors", std::thread::hardware_concurrency()},
            {"driver", version_of_driver()}};
}

json to_json(const FindingMap& findings) {
    json result = json::object();
    for (const auto& [name, values] : findings.values_by_name()) result[name] = values;
    return result;
}

json to_json(const std::vector<VerdictLine>& lines) {
    json result = json::array();
    for (const VerdictLine& line : lines)
        result.push_back({{"check", line.name}, {"verdict", to_string(line.verdict)}, {"text", line.text}});
    return result;
}

std::string anonymized(std::string text) {
    // Only the last part of each path is kept.
    for (std::size_t at = 0; (at = text.find('/', at)) != std::string::npos;) {
        const bool begins_path = at == 0 || std::string_view(" '\"=:(,").find(text[at - 1]) != std::string_view::npos;
        const std::size_t end = std::min(text.find_first_of(" '\":,)\t", at), text.size());
        const std::size_t last = text.rfind('/', end - 1);
        if (begins_path && last != std::string::npos && last > at) text.erase(at, last + 1 - at);
        at = std::min(text.find_first_of(" '\":,)\t", at), text.size());
    }
    for (const std::string& name : private_names()) replace_all(text, name, "NAME");
    return text;
}

void anonymize(json& report) {
    if (report.is_string()) report = anonymized(report.get<std::string>());
    if (!report.is_structured()) return;
    for (json& part : report) anonymize(part);
}

void write_report(const std::string& path, const json& report) {
    const std::string unfinished = path + ".new";
    std::ofstream file(unfinished);
    file << report.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
    file.close();
    std::error_code error;
    if (file) std::filesystem::rename(unfinished, path, error);
    if (!file || error) {
        std::filesystem::remove(unfinished, error);
        throw std::runtime_error("'" + path + "' cannot be written");
    }
}

}  // namespace gpu

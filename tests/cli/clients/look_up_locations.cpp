// Looks up locations for a test. Reads lines `path TAB offset`, or `path TAB offset TAB build id in hexadecimal TAB
// time of the recording in ns`, and writes a line of JSON for each. Without a build id, the file is assumed to be
// unchanged. The last line has the processor time of this process and of its children, in seconds.
#include <sys/resource.h>

#include <cstdint>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/binaries/elf_file.hpp"
#include "cli/source_locations/source_locations.hpp"
#include "record/read/reader.hpp"

namespace {

using fp32shim::cli::SourceLocation;
using Json = nlohmann::ordered_json;

std::vector<std::uint8_t> bytes_of(const std::string& hexadecimal) {
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2)
        bytes.push_back(static_cast<std::uint8_t>(std::stoul(hexadecimal.substr(i, 2), nullptr, 16)));
    return bytes;
}

double processor_seconds() {
    double seconds = 0;
    for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage used{};
        getrusage(who, &used);
        for (const timeval& part : {used.ru_utime, used.ru_stime})
            seconds += static_cast<double>(part.tv_sec) + static_cast<double>(part.tv_usec) * 1e-6;
    }
    return seconds;
}

Json to_json(const SourceLocation& location, const std::string& call_site) {
    Json frames = Json::array();
    for (const auto& frame : location.frames)
        frames.push_back({{"function", frame.function},
                          {"file", frame.file},
                          {"line", frame.line},
                          {"is_inlined", frame.is_inlined}});
    return {{"call_site", call_site},      {"symbol", location.symbol},
            {"clone", location.clone},     {"symbol_offset", location.symbol_offset},
            {"frames", std::move(frames)}, {"why_unknown", location.why_unknown}};
}

}  // namespace

int main() {
    fp32shim::cli::SourceLocator locations;
    std::vector<std::pair<fp32shim::record::RecordedObject, std::uint64_t>> questions;
    std::map<std::string, std::vector<std::uint64_t>> offsets_of;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string offset, id, time;
        fp32shim::record::RecordedObject object;
        std::getline(words, object.path, '\t');
        std::getline(words, offset, '\t');
        std::getline(words, id, '\t');
        std::getline(words, time, '\t');
        object.first_seen_ns = time.empty() ? INT64_MAX - 1 : std::stoll(time);
        if (!time.empty())
            object.build_id = bytes_of(id);
        else if (!questions.empty() && questions.back().first.path == object.path)
            object.build_id = questions.back().first.build_id;
        else
            object.build_id = fp32shim::cli::read_build_id(object.path).value_or(std::vector<std::uint8_t>());
        questions.emplace_back(object, std::stoull(offset, nullptr, 0));
        offsets_of[object.path].push_back(questions.back().second);
    }
    const double begin = processor_seconds();
    for (const auto& [object, offset] : questions)
        if (const auto offsets = offsets_of.extract(object.path)) locations.look_up_all(object, offsets.mapped());
    for (const auto& [object, offset] : questions) locations.location_of(object, offset);
    const double took = processor_seconds() - begin;
    for (const auto& [object, offset] : questions) {
        const SourceLocation& location = locations.location_of(object, offset);
        const Json json = to_json(location, call_site_text(object.path, offset, location));
        std::cout << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
    }
    std::cout << took << '\n';
    return 0;
}

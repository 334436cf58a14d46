// Looks places up for a test. Reads lines `path TAB offset`, or `path TAB offset TAB build id in hexadecimal TAB time
// of the recording in ns`, and writes a line of JSON for each. Without an id, the file is taken to be unchanged. The
// last line has the time that it all took, in seconds.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/binaries/elf_file.hpp"
#include "cli/source_places/source_places.hpp"

namespace {

using fp32shim::cli::SourcePlace;
using Json = nlohmann::ordered_json;

std::vector<std::uint8_t> bytes_of(const std::string& hexadecimal) {
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2)
        bytes.push_back(static_cast<std::uint8_t>(std::stoul(hexadecimal.substr(i, 2), nullptr, 16)));
    return bytes;
}

Json json_of(const SourcePlace& place, const std::string& call_site) {
    Json frames = Json::array();
    for (const auto& frame : place.frames)
        frames.push_back({{"function", frame.function},
                          {"file", frame.file},
                          {"line", frame.line},
                          {"is_inlined", frame.is_inlined}});
    return {{"call_site", call_site},      {"symbol", place.symbol},
            {"clone", place.clone},        {"symbol_offset", place.symbol_offset},
            {"frames", std::move(frames)}, {"why_unknown", place.why_unknown}};
}

}  // namespace

int main() {
    fp32shim::cli::SourcePlaces places;
    const auto begin = std::chrono::steady_clock::now();
    std::map<std::string, std::vector<std::uint8_t>> ids;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string path, offset, id, time;
        std::getline(words, path, '\t');
        std::getline(words, offset, '\t');
        std::getline(words, id, '\t');
        std::getline(words, time, '\t');
        fp32shim::record::RecordedObject object;
        object.path = path;
        object.first_seen_ns = time.empty() ? INT64_MAX - 1 : std::stoll(time);
        if (const auto known = ids.find(path); known != ids.end())
            object.build_id = known->second;
        else
            object.build_id = time.empty() ? fp32shim::cli::read_build_id(path).value_or(std::vector<std::uint8_t>())
                                           : bytes_of(id);
        if (time.empty()) ids[path] = object.build_id;
        const std::uint64_t address = std::stoull(offset, nullptr, 0);
        const SourcePlace& place = places.at(object, address);
        std::cout << json_of(place, call_site_text(path, address, place))
                         .dump(-1, ' ', false, Json::error_handler_t::replace)
                  << '\n';
    }
    std::cout << std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() << '\n';
    return 0;
}

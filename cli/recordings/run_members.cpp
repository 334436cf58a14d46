#include "cli/recordings/run_members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "cli/output/terminal.hpp"
#include "record/format/format.hpp"
#include "record/log_path.hpp"
#include "system/inline_text.hpp"
#include "system/raw_file.hpp"

namespace fp32shim::cli {
namespace {

using record::format::Header;

std::int64_t exit_of(const Header& header) {
    if (header.exited_at <= header.start_ticks || header.ticks_per_second == 0) return header.start_realtime_ns;
    const double seconds =
        static_cast<double>(header.exited_at - header.start_ticks) / static_cast<double>(header.ticks_per_second);
    constexpr double longest = 1e9;  // a damaged header may say anything
    return header.start_realtime_ns + static_cast<std::int64_t>(std::min(seconds, longest) * 1e9);
}

/// Returns the recordings that `list`, the recording at `path`, lists and that are not among `present`.
MissingFileList missing_of(const std::string& path, const RunMember& list, std::vector<const RunMember*> present) {
    MissingFileList missing{.path = path, .names = {}, .never_made = list.unrecorded};
    if (present.size() >= list.listed_count) return missing;
    std::size_t count = list.listed_count - present.size();
    for (const RunMember::ListEntry& listed : list.listed) {
        const auto found = std::ranges::find_if(present, [&](const RunMember* member) {
            return member->identity.pid == listed.pid && member->identity.start == listed.process_start;
        });
        if (found != present.end()) {
            present.erase(found);
        } else if (count > 0) {
            missing.names.push_back(listed.name);
            --count;
        }
    }
    missing.unnamed = count;
    return missing;
}

}  // namespace

std::unique_ptr<Header> read_header(const std::string& path) {
    const system::RawFile file(path.c_str());
    if (!file.is_open()) return nullptr;
    auto header = std::make_unique<Header>();
    const std::size_t size = file.read(0, header.get(), offsetof(Header, changes));
    const bool is_recording = size >= record::format::identity_size && header->magic == record::format::magic;
    return is_recording ? std::move(header) : nullptr;
}

std::optional<RunMember> read_run_member(const std::string& path) {
    const auto header = read_header(path);
    if (header == nullptr) return std::nullopt;
    RunMember member{.run = header->run,
                     .number = record::format::list_id(*header),
                     .listed_in = header->listed_in,
                     .listed_count = header->listed_count,
                     .unrecorded = header->unrecorded,
                     .has_children_file = (header->flags & record::format::flag_children_file) != 0,
                     .is_children_file = (header->flags & record::format::flag_children_only) != 0,
                     .is_run_awaited = (header->flags & record::format::flag_run_is_awaited) != 0,
                     .run_end = header->run_end,
                     .run_recordings = header->run_recordings,
                     .start_ns = header->start_realtime_ns,
                     .exited_ns = exit_of(*header),
                     .identity = {header->pid, header->process_start, header->pid_namespace, {}},
                     .listed = {}};
    std::ranges::copy(header->boot_id, member.identity.boot_id.begin());
    for (const record::format::ListedRecording& entry : header->listed) {
        if (entry.published != 1 || entry.name_size > sizeof entry.name) continue;
        member.listed.push_back({entry.pid, entry.process_start, {entry.name, entry.name_size}});
    }
    return member;
}

bool notes_end_of_run(const std::string& path) {
    const auto member = read_run_member(path);
    return member && member->run_end.ended_ns != 0 && member->run_end.running == 0;
}

bool is_children_file(const std::string& path) {
    const auto member = read_run_member(path);
    return member && member->is_children_file;
}

std::vector<std::string> possible_children_files(const std::string& path) {
    if (!path.ends_with(record::recording_extension)) return {};
    const std::string name = path.substr(0, path.size() - record::recording_extension.size());
    const std::size_t dot = name.rfind('.');
    const bool has_number = dot != std::string::npos && dot + 1 < name.size() &&
                            name.find_first_not_of("0123456789", dot + 1) == std::string::npos;
    const std::string end = ".children" + std::string(record::recording_extension);
    if (has_number) return {name.substr(0, dot) + end, name + end};
    return {name + end};
}

std::vector<MissingFileList> find_missing_files(const std::vector<std::string>& paths) {
    std::vector<std::pair<std::string, RunMember>> all;
    for (const std::string& path : paths)
        if (auto member = read_run_member(path)) all.emplace_back(path, std::move(*member));
    std::map<std::uint64_t, std::vector<const RunMember*>> by_list;
    std::set<std::uint64_t> runs_with_file, lists;
    std::set<std::string_view> children_files;  // names of all files that list children which the shim did not see
    for (const auto& [path, member] : all) {
        lists.insert(member.number);
        if (member.listed_in != 0) by_list[member.listed_in].push_back(&member);
        if (!member.is_children_file) continue;
        runs_with_file.insert(member.run);
        children_files.insert(system::base_name(path));
    }
    std::vector<MissingFileList> result;
    for (const auto& [path, member] : all) {
        MissingFileList missing = missing_of(path, member, by_list[member.number]);
        missing.lacks_children_file =
            member.has_children_file &&
            (member.run != 0 ? !runs_with_file.contains(member.run)
                             : std::ranges::none_of(possible_children_files(path), [&](const std::string& file) {
                                   return children_files.contains(system::base_name(file));
                               }));
        // If a missing recording lists several others, it is reported only once.
        missing.lacks_list =
            member.listed_in != 0 && !missing.lacks_children_file && lists.insert(member.listed_in).second;
        if (missing.recording_count() > 0 || missing.never_made > 0 || missing.lacks_children_file ||
            missing.lacks_list)
            result.push_back(std::move(missing));
    }
    return result;
}

std::string missing_names_text(const std::vector<MissingFileList>& missing) {
    constexpr std::size_t most = 5;
    std::vector<std::string> names;
    std::size_t count = 0;
    for (const MissingFileList& files : missing) {
        names.insert(names.end(), files.names.begin(), files.names.end());
        count += files.recording_count();
    }
    if (names.size() > most) names.resize(most);
    const std::size_t more = count - names.size();
    if (names.empty()) return count == 1 ? "its name is not known" : "their names are not known";
    return fmt::format("{}{}", fmt::join(names, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
}

}  // namespace fp32shim::cli

#include "sparse_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "record/read/reader.hpp"

namespace fp32shim::record::test {

namespace {

constexpr std::size_t patch_header = sizeof(std::uint32_t) + sizeof(std::uint16_t);

template <class Integer>
void append(std::string& out, Integer value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::string expand_sparse(std::span<const std::uint8_t> input) {
    std::uint32_t size = 0;
    if (input.size() < sizeof size) return {};
    std::memcpy(&size, input.data(), sizeof size);
    input = input.subspan(sizeof size);
    std::string file(std::min(size, sparse_size_limit), '\0');
    while (input.size() > patch_header) {
        std::uint32_t offset = 0;
        std::uint16_t patch_size = 0;
        std::memcpy(&offset, input.data(), sizeof offset);
        std::memcpy(&patch_size, input.data() + sizeof offset, sizeof patch_size);
        input = input.subspan(patch_header);
        const std::size_t here = std::min<std::size_t>(patch_size, input.size());
        if (offset < file.size())
            std::memcpy(file.data() + offset, input.data(), std::min(here, file.size() - offset));
        input = input.subspan(here);
    }
    return file;
}

std::string make_sparse(const std::string& file, std::size_t kept) {
    constexpr std::size_t gap = 8;  // a shorter run of zeros costs fewer bytes than a new patch
    std::string out;
    append(out, static_cast<std::uint32_t>(file.size()));
    const auto is_left_out = [&](std::size_t at) {
        return at >= format::segment_size && at % format::segment_size >= kept;
    };
    for (std::size_t at = 0; at < file.size();) {
        if (file[at] == 0 || is_left_out(at)) {
            ++at;
            continue;
        }
        std::size_t end = at;  // index after the last byte that is not zero
        for (std::size_t next = at; next < file.size() && next - at < UINT16_MAX && next < end + gap; ++next) {
            if (is_left_out(next)) break;
            if (file[next] != 0) end = next + 1;
            if (end == at) end = at + 1;
        }
        append(out, static_cast<std::uint32_t>(at));
        append(out, static_cast<std::uint16_t>(end - at));
        out.append(file, at, end - at);
        at = end;
    }
    return out;
}

void read_everything(const std::string& file) {
    const int descriptor = memfd_create("recording", MFD_CLOEXEC);
    if (descriptor < 0 || write(descriptor, file.data(), file.size()) != static_cast<ssize_t>(file.size()))
        std::abort();
    RecordingReader::OpenResult opened = RecordingReader::open_descriptor(descriptor);
    if (opened.reader == nullptr) {
        if (opened.error.empty()) std::abort();
        return;
    }
    RecordingReader& reader = *opened.reader;
    for (int round = 0; round < 2; ++round) {
        std::size_t letters = reader.facts().process.command.size();
        for (const auto& [id, counters] : reader.counters())
            if (const RecordedRow* row = reader.row(id); row != nullptr && row->id != id) std::abort();
        reader.visit_rows([&](const RecordedRow& row) {
            const RecordedRow* again = reader.row(row.id);
            if (again == nullptr || again->decision.call.function != row.decision.call.function) std::abort();
            for (const std::string_view text :
                 {row.decision.call.function, row.decision.call.scope, row.decision.rule})
                letters += static_cast<std::size_t>(std::count(text.begin(), text.end(), 'x'));
            letters += to_string(row.decision.reason).size() + to_string(row.decision.how).size();
            const bool has_format = reader.row_reader().format_of(row.id).has_value();
            if (has_format == row.is_overflow) std::abort();
            return true;
        });
        reader.close_until_next_read();
        std::uint64_t events = 0;
        std::vector<std::uint64_t> last;
        reader.visit_events([&](const RecordedEvent& event) {
            if (event.slot >= format::segment_limit || event.begin_ns() > event.end_ns) std::abort();
            if (event.slot < 64) {
                last.resize(std::max<std::size_t>(last.size(), event.slot + 1));
                if (event.ticks <= last[event.slot]) std::abort();
                last[event.slot] = event.ticks;
            }
            return ++events > 0;
        });
        if (events > reader.event_count()) std::abort();
        reader.visit_audits([&](const RecordedAudit& audit) { return audit.row != UINT32_MAX || ++letters > 0; });
        for (const std::uint32_t slot : reader.slots_with_fingerprints()) {
            FingerprintCursor fingerprints = reader.fingerprints(slot);
            while (const auto entry = fingerprints.next()) letters += entry->fingerprint.is_finite() ? 1 : 0;
        }
        MergedEventCursor later = reader.events(last);
        while (later.next()) {
        }
        std::uint64_t offset = 0;
        for (const FileProblem& problem : reader.problems()) {
            if (problem.offset < offset || problem.what.empty()) std::abort();
            offset = problem.offset;
        }
        if (letters + reader.changes().size() + reader.objects().all.size() +
                static_cast<std::size_t>(reader.state()) ==
            SIZE_MAX)
            std::abort();
        if (!reader.read_again()) std::abort();
    }
}

}  // namespace fp32shim::record::test

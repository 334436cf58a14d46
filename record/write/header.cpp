// The header of a recording: what is known when the file is made.
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "record/format/identity.hpp"
#include "record/processor.hpp"
#include "record/write/writer.hpp"
#include "system/raw_syscall.hpp"
#include "system/small_files.hpp"

namespace fp32shim::record {
namespace {

using format::Text;

constexpr format::Architecture architecture =
#if defined(__x86_64__)
    format::Architecture::x86_64;
#else
    format::Architecture::aarch64;
#endif

using HeaderTexts = std::array<std::string_view, format::text_count + 1>;  // the last one: floor_exception

/// Returns the texts of a header, truncated so that all of them fit.
HeaderTexts header_texts(const ProcessFacts& facts, const StartEvent& start) {
    static constexpr std::size_t name_limit = 1024, path_limit = 4096, command_limit = 16384;
    static_assert((format::text_count - 1) * name_limit + path_limit + command_limit <= sizeof(format::Header::text));
    HeaderTexts texts;
    const auto set = [&](Text which, std::string_view text, std::size_t limit) {
        texts[static_cast<std::size_t>(which)] = text.substr(0, limit);
    };
    set(Text::version, start.version, name_limit);
    set(Text::host, facts.host, name_limit);
    set(Text::job_id, facts.job_id, name_limit);
    set(Text::job_id_from, facts.job_id_from, name_limit);
    set(Text::rank_from, facts.rank_from, name_limit);
    set(Text::executable, facts.executable, path_limit);
    set(Text::command, facts.command, command_limit);
    set(Text::policy_name, start.policy_name, name_limit);
    set(Text::policy_revision, start.policy_revision, name_limit);
    set(Text::policy_sha256, start.policy_sha256, name_limit);
    texts.back() = std::string_view(start.floor_exception).substr(0, name_limit);
    return texts;
}

void put_texts(format::Header& header, const HeaderTexts& texts) {
    std::size_t used = 0;
    const auto put = [&](std::string_view text) {
        const format::TextRange range{static_cast<std::uint32_t>(offsetof(format::Header, text) + used),
                                      static_cast<std::uint32_t>(text.size())};
        std::memcpy(header.text + used, text.data(), text.size());
        used += text.size();
        return range;
    };
    for (std::size_t i = 0; i < format::text_count; ++i) header.texts[i] = put(texts[i]);
    if (!texts.back().empty()) header.floor_exception = put(texts.back());
}

}  // namespace

void Recording::fill_header(format::Header& header, std::int32_t self, std::int32_t forked_from,
                            const StartEvent& start, const ClockPoint& begun) {
    header.version = format::version;
    header.byte_order = format::byte_order;
    header.segment_size = format::segment_size;
    header.pid = self;
    header.forked_from = forked_from;
    header.rank = facts_.rank;
    header.start_realtime_ns = begun.realtime_ns;
    header.start_monotonic_ns = begun.monotonic_ns;
    header.start_ticks = begun.ticks;
    const ProcessIdentity identity = identify_self();
    header.process_start = identity.start;
    header.pid_namespace = identity.pid_namespace;
    std::ranges::copy(identity.boot_id, header.boot_id);
    header.max_size = settings_.max_size;
    header.architecture = static_cast<std::uint8_t>(architecture);
    header.processor = this_processor();
    header.default_precision = static_cast<std::uint8_t>(start.default_precision);
    header.floor = static_cast<std::uint8_t>(start.floor);
    header.allows_bf16x9 = start.allow_bf16x9 ? 1 : 0;
    header.user_and_one = system::user_outside_namespace_plus_1();
    header.cpu_mode = static_cast<std::uint8_t>(start.cpu_mode);
    header.tf32_rounding = static_cast<std::uint8_t>(start.tf32_rounding);
    header.accumulation = static_cast<std::uint8_t>(start.accumulation);
    header.rounds_at_random = start.rounds_at_random ? 1 : 0;
    header.level = static_cast<std::uint8_t>(start.log_level);
    header.where = start.where.bits;
    header.native_frames = start.where.native_frames;
    header.on_full = static_cast<std::uint8_t>(settings_.on_full);
    const auto pins = static_cast<std::uint16_t>(facts_.pins & ~dropped_pins_.load(std::memory_order_relaxed));
    header.pins = static_cast<std::uint8_t>(pins);
    header.more_pins = static_cast<std::uint8_t>(pins >> 8);
    header.run = facts_.run;
    if (facts_.run_is_awaited) header.flags |= format::flag_run_is_awaited;
    if (start.asks_onednn) header.flags |= format::flag_asks_onednn;
    if (start.asks_kernels) header.flags |= format::flag_asks_kernels;
    header.facts_ns = facts_.start_ns;

    put_texts(header, header_texts(facts_, start));

    // This rate is measured over the short time since the making of the file began, so it is not yet exact.
    if (ticks_per_second_.load(std::memory_order_relaxed) == 0)
        ticks_per_second_.store(measure_ticks_per_second(begun), std::memory_order_relaxed);
    const std::uint64_t rate = ticks_per_second_.load(std::memory_order_relaxed);
    header.ticks_per_second = rate;
    short_ticks_ = rate / short_calls_per_second;
    start_clocks_ = begun;
    refine_at_.store(begun.ticks + rate / 1000, std::memory_order_relaxed);
}

}  // namespace fp32shim::record

// Fills the header of a recording with the facts that are known when the file is made.
#include <sys/syscall.h>

#include <algorithm>

#include "record/format/identity.hpp"
#include "record/processor.hpp"
#include "record/write/writer.hpp"
#include "system/raw_syscall.hpp"
#include "system/small_files.hpp"

namespace fp32shim::record {
namespace {

using format::HeaderText;

constexpr format::Architecture architecture =
#if defined(__x86_64__)
    format::Architecture::x86_64;
#else
    format::Architecture::aarch64;
#endif

/// Puts the texts about the process and its settings into a new header. Each text is cut to its limit, so that all
/// texts fit.
void put_texts(format::Header& header, const ProcessFacts& facts, const StartEvent& start) {
    constexpr std::size_t name_limit = 1024, path_limit = 4096, command_limit = 16384;
    static_assert((format::text_count - 1) * name_limit + path_limit + command_limit <= sizeof(format::Header::text));
    std::size_t used = 0;
    const auto put = [&](HeaderText which, std::string_view text, std::size_t limit) {
        header.texts[static_cast<std::size_t>(which)] = append_header_text(header, used, text.substr(0, limit));
    };
    put(HeaderText::version, start.version, name_limit);
    put(HeaderText::host, facts.host, name_limit);
    put(HeaderText::job_id, facts.job_id, name_limit);
    put(HeaderText::job_id_from, facts.job_id_from, name_limit);
    put(HeaderText::rank_from, facts.rank_from, name_limit);
    put(HeaderText::executable, facts.executable, path_limit);
    put(HeaderText::command, facts.command, command_limit);
    put(HeaderText::policy_name, start.policy_name, name_limit);
    put(HeaderText::policy_revision, start.policy_revision, name_limit);
    put(HeaderText::policy_sha256, start.policy_sha256, name_limit);
    if (const std::string_view exception = start.floor_exception; !exception.empty())
        header.floor_exception = append_header_text(header, used, exception.substr(0, name_limit));
}

}  // namespace

void Recording::fill_header(format::Header& header, std::int32_t self, std::int32_t forked_from,
                            const StartEvent& start, const ClockReading& begun) {
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
    header.processor = processor_feature_word();
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

    put_texts(header, facts_, start);

    // The rate is not yet exact, because it is measured over the short time since `begun`, when this process began to
    // make the file.
    if (ticks_per_second_.load(std::memory_order_relaxed) == 0)
        ticks_per_second_.store(measure_ticks_per_second(begun), std::memory_order_relaxed);
    const std::uint64_t rate = ticks_per_second_.load(std::memory_order_relaxed);
    header.ticks_per_second = rate;
    short_ticks_ = rate / short_calls_per_second;
    start_clocks_ = begun;
    refine_at_.store(begun.ticks + rate / 1000, std::memory_order_relaxed);
}

}  // namespace fp32shim::record

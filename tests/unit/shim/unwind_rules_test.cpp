// Tests that rules of frames are those that the compiler wrote, and that damaged tables are read only within their
// bounds. Each test uses the tables of this program or a copy of them, under the address sanitizer too.
#include "shim/where/native/unwind_rules.hpp"

#include <gtest/gtest.h>
#include <link.h>
#include <unwind.h>

#include <cstring>
#include <initializer_list>
#include <random>
#include <vector>

namespace fp32shim::where {
namespace {

/// The unwind tables of this program, and the start addresses of its functions.
struct OwnTables {
    UnwindTables tables;
    std::vector<std::uintptr_t> functions;
};

int take_tables(dl_phdr_info* info, std::size_t, void* result) {
    auto& own = *static_cast<OwnTables*>(result);
    std::uintptr_t begin = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) begin = info->dlpi_phdr[i].p_vaddr;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = info->dlpi_phdr[i];
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(info->dlpi_addr + begin);
        if (part.p_type == PT_GNU_EH_FRAME) own.tables.header = {bytes, part.p_memsz};
        // Does not start at the segment's start: between the constants before the tables lie guards of the sanitizer.
        if (part.p_type == PT_LOAD && begin - part.p_vaddr < part.p_filesz)
            own.tables.segment = {bytes, part.p_filesz - (begin - part.p_vaddr)};
    }
    return 1;  // the first object is the program itself
}

OwnTables own_tables() {
    OwnTables own;
    dl_iterate_phdr(take_tables, &own);
    std::uint32_t count = 0;
    constexpr std::size_t head = 12;  // four encodings, the address of .eh_frame, and the number of functions
    std::memcpy(&count, own.tables.header.data() + head - sizeof count, sizeof count);
    for (std::uint32_t i = 0; i < count; ++i) {
        std::int32_t begin = 0;
        std::memcpy(&begin, own.tables.header.data() + head + std::size_t{8} * i, sizeof begin);
        own.functions.push_back(reinterpret_cast<std::uintptr_t>(own.tables.header.data()) +
                                static_cast<std::uintptr_t>(std::intptr_t{begin}));
    }
    return own;
}

/// A copy of the tables in separate memory, so that a read beyond them is detected. Its addresses are `moved` higher
/// than the original ones; the tables themselves hold only distances.
struct Copy {
    explicit Copy(const UnwindTables& original)
        : bytes(original.segment.begin(), original.segment.end()),
          moved(reinterpret_cast<std::uintptr_t>(bytes.data()) -
                reinterpret_cast<std::uintptr_t>(original.segment.data())),
          header_size(original.header.size()) {}

    UnwindTables tables() const { return {std::span(bytes).first(header_size), bytes}; }

    std::vector<std::uint8_t> bytes;
    std::uintptr_t moved;
    std::size_t header_size;
};

TEST(UnwindRules, FunctionsOfThisProgramHaveRules) {
    const OwnTables own = own_tables();
    ASSERT_GT(own.functions.size(), 100u);
    std::size_t known = 0;
    for (const std::uintptr_t function : own.functions) {
        const FrameRule rule = find_frame_rule(own.tables, function);
        if (rule.kind != FrameRule::FrameKind::call) continue;  // a part that was split off from a function
        ++known;
#if defined(__x86_64__)
        // At the start of a function, the stack holds only the address of its caller.
        constexpr std::int32_t smallest = 8;
        if (rule.frame_register == stack_pointer_index && rule.frame_offset == smallest) {
            EXPECT_EQ(rule.saved, 1U << return_address_index);
        }
#endif
    }
    EXPECT_GT(known, own.functions.size() / 2);
}

_Unwind_Reason_Code compare_frames(_Unwind_Context* context, void* result) {
    auto& frames = *static_cast<std::vector<std::uintptr_t>*>(result);
    frames.push_back(_Unwind_GetIP(context));
    frames.push_back(_Unwind_GetCFA(context));
    return _URC_NO_REASON;
}

TEST(UnwindRules, FramesAreAsLargeAsTheCompilersUnwinderSays) {
    const OwnTables own = own_tables();
    std::vector<std::uintptr_t> frames;
    _Unwind_Backtrace(compare_frames, &frames);
    std::size_t compared = 0;
    for (std::size_t i = 0; i + 3 < frames.size(); i += 2) {
        const FrameRule rule = find_frame_rule(own.tables, frames[i] - 1);
        if (rule.kind != FrameRule::FrameKind::call || rule.frame_register != stack_pointer_index) continue;
        // The compiler's "CFA" of a frame is the stack pointer in that frame.
        EXPECT_EQ(frames[i + 1] + static_cast<std::uintptr_t>(std::intptr_t{rule.frame_offset}), frames[i + 3]);
        ++compared;
    }
    EXPECT_GT(compared, 3u);
}

TEST(UnwindRules, AddressesOutsideOfFunctionsHaveNone) {
    const OwnTables own = own_tables();
    EXPECT_EQ(find_frame_rule(own.tables, own.functions.front() - 1).kind, FrameRule::FrameKind::unknown);
    EXPECT_EQ(find_frame_rule(own.tables, 0).kind, FrameRule::FrameKind::unknown);
    EXPECT_EQ(find_frame_rule(own.tables, UINTPTR_MAX).kind, FrameRule::FrameKind::unknown);
    EXPECT_EQ(find_frame_rule({}, own.functions.front()).kind, FrameRule::FrameKind::unknown);
}

TEST(UnwindRules, ACopyOfTheTablesGivesTheSameRules) {
    const OwnTables own = own_tables();
    const Copy copy(own.tables);
    for (const std::uintptr_t function : own.functions)
        for (const std::uintptr_t distance : {0, 1, 7, 20, 100})
            EXPECT_TRUE((find_frame_rule(copy.tables(), function + distance + copy.moved) ==
                         find_frame_rule(own.tables, function + distance)));
}

/// Tables of one function, written by hand: at its start, the return address is saved at the frame's address minus 8.
class OneFunction {
  public:
    explicit OneFunction(const std::vector<std::uint8_t>& program) {
        add({1, 0xff, 0x03, 0x3b, 1, 0, 0, 0});  // .eh_frame_hdr: one function
        add_number(begin);
        add_number(header_size + common_size);
        add_number(common_size - 4);
        add({0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, return_address, 1,
             0x1b});  // steps 1 and -8; signed 4-byte distances
        add({0x0c, stack_pointer_number, 8, static_cast<std::uint8_t>(0x80 | return_address), 1});
        bytes_.resize(header_size + common_size);
        add_number(static_cast<std::int32_t>(13 + program.size()));
        add_number(common_size + 4);
        add_number(begin - static_cast<std::int32_t>(bytes_.size()));
        add_number(size);
        bytes_.push_back(0);
        bytes_.insert(bytes_.end(), program.begin(), program.end());
    }

    FrameRule rule_at(std::int32_t distance) const {
        return find_frame_rule({std::span(bytes_).first(header_size), bytes_},
                               reinterpret_cast<std::uintptr_t>(bytes_.data()) + begin + distance);
    }

    static constexpr std::uint8_t frame_pointer = followed_registers[0];
    static constexpr std::uint8_t return_address = followed_registers[return_address_index];

  private:
    static constexpr std::int32_t header_size = 16, common_size = 28, begin = 4096, size = 100;

    void add(std::initializer_list<std::uint8_t> bytes) { bytes_.insert(bytes_.end(), bytes); }
    void add_number(std::int32_t number) {
        for (int shift = 0; shift < 32; shift += 8) bytes_.push_back(static_cast<std::uint8_t>(number >> shift));
    }

    std::vector<std::uint8_t> bytes_;
};

TEST(UnwindRules, AreThoseOfTheInstructionsUpToTheAddress) {
    constexpr std::uint8_t pointer = OneFunction::frame_pointer;
    const std::vector<std::vector<std::uint8_t>> instructions = {
        {0x44, 0x0e, 16, 0x80 | pointer, 2},                          // at 4: pushes the frame pointer
        {0x44, 0x0d, pointer},                                        // 8: which then holds the frame
        {0x44, 0x0a, 0x0c, stack_pointer_number, 8, 0xc0 | pointer},  // 12: restored, for an early return
        {0x44, 0x0b},                                                 // 16: as before the return
        {0x44, 0x07, pointer},                                        // 20: lost
        {0x44, 0x08, pointer},                                        // 24: unchanged
        {0x44, 0x10, pointer, 2, 0x70 + pointer, 0x78},               // 28: saved at the register minus 8
        {0x02, 4, 0x07, OneFunction::return_address},                 // 32: no caller
    };
    std::vector<std::uint8_t> program;
    for (const auto& instruction : instructions)
        program.insert(program.end(), instruction.begin(), instruction.end());
    const OneFunction function(program);

    FrameRule start{.kind = FrameRule::FrameKind::call, .saved = 1U << return_address_index, .frame_offset = 8};
    start.offsets[return_address_index] = -8;
    FrameRule pushed = start;
    pushed.saved |= 1;
    pushed.frame_offset = 16;
    pushed.offsets[0] = -16;
    FrameRule framed = pushed;
    framed.frame_register = 0;
    EXPECT_TRUE(function.rule_at(0) == start && function.rule_at(3) == start);
    EXPECT_TRUE(function.rule_at(4) == pushed && function.rule_at(7) == pushed);
    EXPECT_TRUE(function.rule_at(8) == framed);
    EXPECT_EQ(function.rule_at(12).saved, start.saved);
    EXPECT_EQ(function.rule_at(12).frame_register, stack_pointer_index);
    EXPECT_EQ(function.rule_at(12).frame_offset, 8);
    EXPECT_TRUE(function.rule_at(16) == framed);
    EXPECT_EQ(function.rule_at(20).saved, start.saved);
    EXPECT_EQ(function.rule_at(20).lost, 1);
    EXPECT_EQ(function.rule_at(24).saved, start.saved);
    EXPECT_EQ(function.rule_at(24).lost, 0);
    framed.from_register = 1;
    framed.base_register = 0;
    framed.offsets[0] = -8;
    EXPECT_TRUE(function.rule_at(28) == framed);
    EXPECT_EQ(function.rule_at(32).kind, FrameRule::FrameKind::outermost);
    EXPECT_EQ(function.rule_at(-1).kind, FrameRule::FrameKind::unknown);
    EXPECT_EQ(function.rule_at(100).kind, FrameRule::FrameKind::unknown);
}

TEST(UnwindRules, DamagedTablesAreReadWithinTheirBounds) {
    const OwnTables own = own_tables();
    std::mt19937 random(1);
    std::size_t different = 0;
    for (int round = 0; round < 60; ++round) {
        Copy copy(own.tables);
        const int changes = round % 3 == 0 ? 20 : round % 3 == 1 ? 2000 : 100000;
        for (int i = 0; i < changes; ++i)
            copy.bytes[random() % copy.bytes.size()] =
                static_cast<std::uint8_t>(random() % 4 == 0 ? random() : random() % 2 * 255);
        for (int i = 0; i < 2000; ++i) {
            const std::uintptr_t function = own.functions[random() % own.functions.size()] + random() % 64;
            const FrameRule rule = find_frame_rule(copy.tables(), function + copy.moved);
            EXPECT_LE(rule.frame_register, stack_pointer_index);
            EXPECT_LE(rule.base_register, stack_pointer_index);
            different += rule == find_frame_rule(own.tables, function) ? 0 : 1;
        }
    }
    EXPECT_GT(different, 1000u);
}

TEST(UnwindRules, TruncatedTablesAreReadWithinTheirBounds) {
    const OwnTables own = own_tables();
    const Copy copy(own.tables);
    for (std::size_t size = 0; size < copy.bytes.size(); size += 1 + copy.bytes.size() / 300) {
        // The copy's memory has exactly the size of the damaged table.
        const std::vector<std::uint8_t> bytes(copy.bytes.begin(),
                                              copy.bytes.begin() + static_cast<std::ptrdiff_t>(size));
        const std::span<const std::uint8_t> all(bytes);
        const UnwindTables tables{all.first(std::min(size, copy.header_size)), all};
        const std::uintptr_t moved = reinterpret_cast<std::uintptr_t>(bytes.data()) -
                                     reinterpret_cast<std::uintptr_t>(own.tables.header.data());
        for (std::size_t i = 0; i < own.functions.size(); i += 17) find_frame_rule(tables, own.functions[i] + moved);
    }
}

}  // namespace
}  // namespace fp32shim::where

#include "shim/where/native/native_stack.hpp"

#include <ucontext.h>

#include <bit>
#include <csignal>
#include <optional>

#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/loaded_object.hpp"
#include "system/hash.hpp"
#include "system/is_readable.hpp"
#include "system/signal_hold.hpp"

namespace fp32shim::where {
namespace {

using CachedRule = UnwindCache::CachedRule;
using PageRange = UnwindCache::PageRange;

constexpr std::uint64_t spreading_factors[] = {system::golden_ratio, 0xd1342543de82ef95};
constexpr std::uintptr_t page_size = 4096;  ///< larger pages are checked in pieces of this size

/// The registers of a function at a call: those of `followed_registers`, then the stack pointer.
struct Registers {
    std::uintptr_t values[followed_count + 1];
    std::uint8_t lost = 0;           ///< bit i is set if values[i] is unknown
    std::uintptr_t instruction = 0;  ///< the call instruction, or the instruction that a signal interrupted
    bool is_interrupted = true;      ///< true if the instruction has not been executed yet

    std::uintptr_t& stack_pointer() { return values[stack_pointer_index]; }
};

/// Returns a return address without the signature that aarch64 may put into it.
std::uintptr_t without_signature(std::uintptr_t address) {
#if defined(__aarch64__)
    // The instruction is xpaclri, which older processors ignore.
    __asm__("mov x30, %0\n\thint #7\n\tmov %0, x30" : "+r"(address) : : "x30");
#endif
    return address;
}

/// Returns the bytes of the object's readable segment that contains `address`, or an empty span if there is none.
std::span<const std::uint8_t> readable_segment(const link_map* map, std::uintptr_t address) {
    for (const ElfW(Phdr) & segment : elf::program_headers(map)) {
        const std::uintptr_t begin = map->l_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_R) != 0 && address - begin < segment.p_filesz)
            return {reinterpret_cast<const std::uint8_t*>(begin), segment.p_filesz};
    }
    return {};
}

UnwindTables tables_of(const link_map* map) {
    for (const ElfW(Phdr) & part : elf::program_headers(map)) {
        if (part.p_type != PT_GNU_EH_FRAME) continue;
        const std::uintptr_t begin = map->l_addr + part.p_vaddr;
        const auto segment = readable_segment(map, begin);
        const std::uintptr_t distance = begin - reinterpret_cast<std::uintptr_t>(segment.data());
        if (segment.empty() || part.p_memsz > segment.size() - distance) return {};
        return {segment.subspan(distance, part.p_memsz), segment, system::is_readable};
    }
    return {};
}

/// Returns true for the address of the kernel code that ends a signal handler. On aarch64 this code has no unwind
/// table, so unwinders recognise its instructions. On x86-64 the function always returns false, because an unwind
/// table marks the code.
bool is_signal_return([[maybe_unused]] std::uintptr_t address) {
#if defined(__aarch64__)
    constexpr std::uint32_t code[] = {0xd2801168, 0xd4000001};  // mov x8, #__NR_rt_sigreturn; svc #0
    if (address % sizeof *code != 0 || !system::is_readable(address) || !system::is_readable(address + sizeof *code))
        return false;
    const auto* words = reinterpret_cast<const std::uint32_t*>(address);
    return words[0] == code[0] && words[1] == code[1];
#else
    return false;
#endif
}

[[gnu::noinline, gnu::cold]] CachedRule find_entry(std::uintptr_t instruction, std::uint64_t stamp) {
    const elf::ReadGuard reading;
    CachedRule entry{instruction, stamp, CachedRule::no_object, {}};
    const LoadedObject* const object = object_containing(instruction);
    if (is_signal_return(instruction + 1)) entry.rule.kind = FrameRule::FrameKind::signal;
    if (object == nullptr) {
        // The kernel's code that ends a signal handler is in no file, so stacks leave it out, like the shim's own
        // functions.
        if (entry.rule.kind == FrameRule::FrameKind::signal) entry.object = CachedRule::own_object;
        return entry;
    }
    const std::uint64_t loads = object->loads.load(std::memory_order_relaxed);
    const bool is_own = object->map == elf::own_object();
    entry.object =
        is_own ? CachedRule::own_object
               : (reinterpret_cast<std::uintptr_t>(object) + loads * spreading_factors[0]) * spreading_factors[1];
    if (entry.rule.kind != FrameRule::FrameKind::signal)
        entry.rule = find_frame_rule(tables_of(object->map), instruction);
    return entry;
}

/// Reads the memory of a stack. At first only the pages that the constructor receives are known to be readable.
class StackMemory {
  public:
    explicit StackMemory(PageRange pages) : pages_(pages) {}

    const PageRange& pages() const { return pages_; }

    /// Reads a word. Returns false if the address is not readable or not aligned.
    bool read(std::uintptr_t address, std::uintptr_t& word) {
        if (address % sizeof word != 0) return false;
        if ((address < pages_.begin || address >= pages_.end) && !find_pages(address)) return false;
        word = *reinterpret_cast<const std::uintptr_t*>(address);
        return true;
    }
    /// Copies an object, word by word. Returns false if it cannot be read.
    template <class Object>
    bool copy(std::uintptr_t address, Object& object) {
        static_assert(sizeof(Object) % sizeof(std::uintptr_t) == 0);
        auto* words = reinterpret_cast<std::uintptr_t*>(&object);
        for (std::size_t i = 0; i < sizeof object / sizeof *words; ++i)
            if (!read(address + i * sizeof *words, words[i])) return false;
        return true;
    }

  private:
    /// Returns true if the page of an address is readable. If the page lies less than a mebibyte above the known
    /// pages, also checks the pages in between, so that the known pages stay one range.
    [[gnu::noinline, gnu::cold]] bool find_pages(std::uintptr_t address) {
        constexpr std::uintptr_t near = 1 << 20;
        const std::uintptr_t page = address / page_size * page_size;
        std::uintptr_t next = page;
        if (page >= pages_.end && page - pages_.end < near && pages_.end != 0) next = pages_.end;
        for (; next <= page; next += page_size) {
            if (!system::is_readable(next)) break;
            if (next != pages_.end) pages_.begin = next;
            pages_.end = next + page_size;
        }
        if (next > page) return true;
        if (!system::is_readable(page)) return false;
        pages_ = {page, page + page_size};
        return true;
    }

    PageRange pages_;
};

/// Replaces the registers of a function by those of its caller. Returns false if the caller's frame cannot be found.
bool step_by_rule(const FrameRule& rule, StackMemory& memory, Registers& registers) {
    const auto bit = [](std::size_t index) { return static_cast<std::uint8_t>(1U << index); };
    if ((registers.lost & bit(rule.frame_register)) != 0) return false;
    if (rule.from_register != 0 && (registers.lost & bit(rule.base_register)) != 0) return false;
    const std::uintptr_t base = registers.values[rule.base_register];
    std::uintptr_t frame =
        registers.values[rule.frame_register] + static_cast<std::uintptr_t>(std::intptr_t{rule.frame_offset});
    if (rule.frame_is_loaded && !memory.read(frame, frame)) return false;
    // Stacks grow downwards, so the frame of a caller lies at a higher address. A distance above 1 GiB is an error.
    constexpr std::uintptr_t largest = std::uintptr_t{1} << 30;
    const std::uintptr_t size = frame - registers.stack_pointer();
    if (size > largest || frame % sizeof frame != 0 || (size == 0 && !registers.is_interrupted)) return false;
    for (std::size_t index = 0; index < followed_count; ++index) {
        if ((rule.saved & bit(index)) == 0) continue;
        const std::uintptr_t from = (rule.from_register & bit(index)) != 0 ? base : frame;
        const auto offset = static_cast<std::uintptr_t>(std::intptr_t{rule.offsets[index]});
        if (!memory.read(from + offset, registers.values[index])) return false;
    }
    registers.lost = static_cast<std::uint8_t>((registers.lost & ~rule.saved) | rule.lost);
    registers.stack_pointer() = frame;
    registers.instruction = without_signature(registers.values[return_address_index]) - 1;
    registers.is_interrupted = false;
    return true;
}

/// Replaces `registers` by those of the function that a signal interrupted. Precondition: `registers` belong to the
/// frame that the kernel made for the signal handler.
bool step_by_signal(StackMemory& memory, Registers& registers) {
#if defined(__x86_64__)
    constexpr std::size_t offset = offsetof(ucontext_t, uc_mcontext.gregs);
    gregset_t saved;
    if (!memory.copy(registers.stack_pointer() + offset, saved)) return false;
    constexpr int numbers[] = {REG_RBP, REG_RBX, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP, REG_RSP};
    static_assert(std::size(numbers) == followed_count + 1);
    for (std::size_t index = 0; index <= followed_count; ++index)
        registers.values[index] = static_cast<std::uintptr_t>(saved[numbers[index]]);
    registers.instruction = registers.values[return_address_index];
#else
    constexpr std::size_t offset = sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.regs);
    struct {
        std::uint64_t regs[31], sp, pc;
    } words;
    if (!memory.copy(registers.stack_pointer() + offset, words)) return false;
    registers.values[0] = words.regs[29];
    registers.values[1] = words.regs[30];
    registers.stack_pointer() = words.sp;
    registers.instruction = words.pc;
#endif
    registers.lost = 0;
    registers.is_interrupted = true;
    return true;
}

/// Reads the current registers, and an address in the function into which this function is inlined.
[[gnu::always_inline]] inline void read_registers(Registers& registers) {
    std::uintptr_t(&values)[followed_count + 1] = registers.values;
#if defined(__x86_64__)
    __asm__ volatile(
        "movq %%rbp, 0(%1)\n\tmovq %%rbx, 8(%1)\n\tmovq %%r12, 16(%1)\n\tmovq %%r13, 24(%1)\n\t"
        "movq %%r14, 32(%1)\n\tmovq %%r15, 40(%1)\n\tmovq %%rsp, 56(%1)\n\tleaq 0(%%rip), %0"
        : "=&r"(registers.instruction)
        : "r"(values)
        : "memory");
#else
    __asm__ volatile("mov %0, sp\n\tstp x29, x30, [%1]\n\tstr %0, [%1, #16]\n\tadr %0, ."
                     : "=&r"(registers.instruction)
                     : "r"(values)
                     : "memory");
#endif
}

/// Replaces `registers` by those of the caller. Returns the reason if the stack ends at the current function,
/// otherwise nullopt.
std::optional<NativeStack::StackEnd> step(const FrameRule& rule, StackMemory& memory, Registers& registers) {
    switch (rule.kind) {
        case FrameRule::FrameKind::call:
            if (!step_by_rule(rule, memory, registers)) return NativeStack::StackEnd::unknown;
            break;
        case FrameRule::FrameKind::signal:
            if (!step_by_signal(memory, registers)) return NativeStack::StackEnd::unknown;
            break;
        case FrameRule::FrameKind::outermost:
            return NativeStack::StackEnd::outermost;
        case FrameRule::FrameKind::unknown:
            return NativeStack::StackEnd::unknown;
    }
    // Some outermost functions have a rule that gives 0 as their return address.
    const std::uintptr_t returns_to = registers.instruction + (registers.is_interrupted ? 0 : 1);
    if (returns_to == 0) return NativeStack::StackEnd::outermost;
    return std::nullopt;
}

/// Reads the callers of the function that has these `registers`. Returns false if a signal handler replaced a rule in
/// the cache during the walk; `stack` is then incomplete.
[[gnu::always_inline]] inline bool walk(std::size_t max_callers, UnwindCache* cache, Registers registers,
                                        NativeStack& stack) {
    constexpr int most_own = 64;  // the most frames of the shim and of the kernel in one stack
    const std::uint64_t stamp = load_unload_generation();
    StackMemory memory(cache == nullptr ? PageRange{} : cache->pages);
    CachedRule spare;
    std::uint64_t key = 1;
    stack.count = 0;
    stack.end = NativeStack::StackEnd::unknown;
    bool is_whole = true;
    for (int own = 0; own < most_own;) {
        const std::uintptr_t instruction = registers.instruction;
        const CachedRule& entry =
            cache == nullptr ? spare = find_entry(instruction, stamp) : cache->rule_at(instruction, stamp, spare);
        const std::uint64_t object = entry.object;
        if (object == CachedRule::no_object) {
            stack.end = NativeStack::StackEnd::generated_code;
            break;
        }
        if (object == CachedRule::own_object) {
            ++own;
        } else if (stack.count == max_callers) {
            stack.end = NativeStack::StackEnd::cut;
            break;
        } else {
            stack.addresses[stack.count++] = instruction + 1;
            key = (std::rotl(key, 23) ^ instruction ^ object) * spreading_factors[1];
        }
        const auto end = step(entry.rule, memory, registers);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        is_whole = entry.instruction == instruction;
        if (!is_whole) break;
        if (end) {
            stack.end = *end;
            break;
        }
    }
    if (cache != nullptr) cache->keep_pages(memory.pages());
    stack.key = (key ^ static_cast<std::uint64_t>(stack.end)) * spreading_factors[0];
    return is_whole;
}

}  // namespace

[[gnu::noinline, gnu::cold]] const CachedRule& UnwindCache::find_and_keep(std::uintptr_t instruction,
                                                                          std::uint64_t stamp, CachedRule& spare) {
    spare = find_entry(instruction, stamp);
    if (stamp == 0) return spare;
    const system::SignalHold hold;
    const std::size_t index = index_of(instruction);
    const bool is_taken = entries_[index].instruction != 0 && entries_[index].stamp == stamp;
    entries_[is_taken ? index ^ 1 : index] = spare;
    return spare;
}

[[gnu::noinline, gnu::cold]] void UnwindCache::replace_pages(PageRange found) {
    const system::SignalHold hold;
    pages = found;
}

[[gnu::noinline]] void read_native_stack(std::size_t max_callers, UnwindCache* cache, NativeStack& stack) {
    Registers registers{};
    read_registers(registers);
    constexpr int tries = 3;
    for (int attempt = 0; attempt < tries && !walk(max_callers, cache, registers, stack); ++attempt) {
    }
    stack.key = stack.key == 0 ? 1 : stack.key;
}

}  // namespace fp32shim::where

#include "record/write/environment_list.hpp"

#include <atomic>

namespace fp32shim::record {

void EnvironmentFactList::add_fact(EnvironmentFact fact, std::string_view subject, std::string_view value) {
    const format::StringId about = rows_.id_of_text(subject), text = rows_.id_of_text(value);
    if (text == 0) return;
    const system::HeldLock held(lock_);
    if (!held) return;
    for (format::EnvironmentRecord& entry : file_.header()->environment) {
        const std::atomic_ref state(entry.fact);
        const std::uint32_t known = state.load(std::memory_order_acquire);
        if (known == static_cast<std::uint32_t>(fact) && entry.subject == about && entry.value == text) return;
        if (known != 0) continue;
        entry.subject = about;
        entry.value = text;
        state.store(static_cast<std::uint32_t>(fact), std::memory_order_release);
        return;
    }
}

}  // namespace fp32shim::record

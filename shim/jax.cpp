// Records products of programs that JAX has XLA compile for a CPU. XLA multiplies in code that it generates, and
// exports nothing by which its products could be seen. So fp32shim_jax.py finds the products and reports them here.
#include "record/onednn/line.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/onednn/copies.hpp"
#include "shim/onednn/record_execution.hpp"
#include "shim/settings/settings.hpp"
#include "system/inline_text.hpp"
#include "system/kept_state.hpp"

namespace fp32shim {
namespace {

/// The call site of all products that fp32shim_jax.py reports. Its provider is the object that contains XLA.
constinit Site site{};

/// Returns the loaded object of this name; nullptr if there is none, or more than one. An elf::ReadGuard must be
/// held.
LoadedObject* only_object_of_name(std::string_view name) {
    const link_map* found = nullptr;
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next) {
        if (!system::equal(elf::name_of(map), name)) continue;
        if (found != nullptr) return nullptr;
        found = map;
    }
    return found == nullptr ? nullptr : loaded_object(found);
}

bool record_jax_product(const char* library, const char* line, const char* where) {
    const system::ErrnoAndFloatGuard kept;
    const Settings& in_force = settings();  // reads the settings before the list of loaded objects is locked
    record::OneDnnExecution execution;
    {
        const elf::ReadGuard reading;
        LoadedObject* const object = only_object_of_name(system::view(library));
        if (object == nullptr || (line == nullptr && !in_force.asks_onednn)) return false;
        site.provider = object;
        if (line == nullptr) {
            onednn::note_findings(*object, record::format::object_tells_jax);
            return true;
        }
        record::parse_onednn_line(system::view(line), execution);
        // The lower format is noted for the object, and not only in the product's row, because later recordings of
        // this process and of forked children do not have that row.
        if (execution.actual != policy::AppliedFormat::fp32 && execution.actual != policy::AppliedFormat::fp64)
            onednn::note_findings(*object, record::format::object_has_narrow_jax);
    }
    onednn::record_execution(site, execution, system::view(where));
    return true;
}

}  // namespace
}  // namespace fp32shim

/// fp32shim_jax.py calls this function. If `line` is nullptr, the call announces that from now on, each product of
/// each program that the XLA in `library` compiles for a CPU will be reported. Otherwise `line` is a product, or a
/// program whose products are not known, in the form in which oneDNN prints executions. `where` is the line of
/// Python that led to it; empty if it is unknown. The result is 0 if the library is not found, or if `line` is
/// nullptr and the settings ask for no such reports; otherwise it is 1.
// NOLINTNEXTLINE(readability-identifier-naming): the underscore says that the function is private
extern "C" __attribute__((visibility("default"))) int _fp32shim_jax(const char* library, const char* line,
                                                                    const char* where) {
    return fp32shim::record_jax_product(library, line, where) ? 1 : 0;
}

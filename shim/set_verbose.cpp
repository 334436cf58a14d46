// Defines the functions by which a program changes the verbose mode of oneDNN: oneDNN's own functions, and those that
// torch.backends.mkldnn.verbose and intel_extension_for_pytorch.verbose call. The mode that the program sets decides
// which lines of oneDNN the program sees. The shim gets the lines about executions in every mode.
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/provider.hpp"
#include "shim/onednn/copies.hpp"

namespace fp32shim {
namespace {

onednn::SetVerbose* find_next_set_verbose(std::string_view name, void* return_address) {
    const elf::ReadGuard reading;
    const auto caller = reinterpret_cast<std::uintptr_t>(return_address) - 1;
    return reinterpret_cast<onednn::SetVerbose*>(find_by_rtld_default(object_containing(caller), name, {}).address);
}

int set_verbose(std::string_view name, int level, void* return_address) {
    onednn::SetVerbose* const next = find_next_set_verbose(name, return_address);
    return next == nullptr ? -1 : onednn::set_verbose(next, level);
}

}  // namespace
}  // namespace fp32shim

#define FP32SHIM_SET_VERBOSE(symbol, function)                                  \
    __attribute__((visibility("default"))) int function(int level) asm(symbol); \
    int function(int level) { return fp32shim::set_verbose(symbol, level, __builtin_return_address(0)); }

FP32SHIM_SET_VERBOSE("dnnl_set_verbose", set_verbose_of_onednn)
FP32SHIM_SET_VERBOSE("mkldnn_set_verbose", set_verbose_of_mkldnn)
// The mangled name of int torch_ipex::utils::onednn_set_verbose(int level)
FP32SHIM_SET_VERBOSE("_ZN10torch_ipex5utils18onednn_set_verboseEi", set_verbose_of_torch_ipex)
// The mangled name of int torch::verbose::_mkldnn_set_verbose(int level)
FP32SHIM_SET_VERBOSE("_ZN5torch7verbose19_mkldnn_set_verboseEi", set_verbose_of_torch)

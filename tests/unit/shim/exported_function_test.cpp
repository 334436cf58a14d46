// Tests names of exported functions in loaded objects. The loaded library is built in two forms: with all symbols,
// and without those that are not exported (strip).
#include "shim/where/native/exported_function.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cerrno>
#include <string>

#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"

namespace fp32shim::where {
namespace {

struct Library {
    explicit Library(const std::string& path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
    ~Library() {
        if (handle != nullptr) dlclose(handle);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    const link_map* object() const { return static_cast<const link_map*>(handle); }
    std::uintptr_t exported() const { return reinterpret_cast<std::uintptr_t>(dlsym(handle, "named_exported")); }
    std::uintptr_t hidden() const {
        return reinterpret_cast<std::uintptr_t (*)()>(dlsym(handle, "address_of_hidden"))();
    }
    void* handle;
};

std::string name_at(const link_map* object, std::uintptr_t return_address) {
    const elf::ReadGuard reading;
    const ExportedFunction found = exported_caller(object, return_address);
    return found.name.empty() ? "" : std::string(found.name) + "+" + std::to_string(found.offset);
}

TEST(ExportedCaller, IsFoundAlsoInAStrippedFile) {
    for (const char* form : {"/libnamed.so", "/libnamed_stripped.so"}) {
        const Library library(std::string(SYMBOL_FIXTURES) + form);
        ASSERT_NE(library.handle, nullptr) << dlerror();
        EXPECT_EQ(name_at(library.object(), library.exported() + 1), "named_exported+1");
        EXPECT_EQ(name_at(library.object(), library.hidden() + 1), "");
        EXPECT_EQ(name_at(library.object(), library.object()->l_addr), "");
        EXPECT_EQ(name_at(nullptr, library.hidden()), "");
    }
}

TEST(ExportedCaller, IsFoundForAllOfTheCLibrary) {
    const Library library("libc.so.6");
    EXPECT_EQ(name_at(library.object(), reinterpret_cast<std::uintptr_t>(dlsym(library.handle, "qsort_r")) + 4),
              "qsort_r+4");
}

TEST(ExportedCaller, NeedsNoMallocAndKeepsErrno) {
    const Library library(std::string(SYMBOL_FIXTURES) + "/libnamed.so");
    const std::uintptr_t address = library.exported() + 1;
    const std::size_t used = mallinfo2().uordblks;
    errno = 77;
    for (int i = 0; i < 100; ++i) {
        const elf::ReadGuard reading;
        EXPECT_EQ(exported_caller(library.object(), address).offset, 1U);
    }
    EXPECT_EQ(errno, 77);
    EXPECT_EQ(mallinfo2().uordblks, used);
}

}  // namespace
}  // namespace fp32shim::where

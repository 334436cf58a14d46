// Tests names of functions in loaded objects. The loaded library is built in three forms: with all symbols, without
// those that are not exported (strip), and without any identification by the linker.
#include "shim/where/native/symbol.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/where/native/function_name.hpp"

namespace fp32shim::where {
namespace {

/// A function of this program that is in no table of exported names.
[[gnu::noinline, gnu::used]] static void hidden_in_the_program() { asm volatile(""); }

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
    char buffer[2 * symbol_limit + 2];
    const elf::Reading reading;
    const NamedAddress found = name_of_caller(object, return_address, buffer);
    return found.name.empty() ? "" : std::string(found.name) + "+" + std::to_string(found.offset);
}

std::string folder() { return SYMBOL_FIXTURES; }

TEST(NameOfCaller, IsThatOfAnExportedFunctionAlsoInAStrippedFile) {
    for (const char* form : {"/libnamed.so", "/libnamed_stripped.so", "/libnamed_without_id.so"}) {
        const Library library(folder() + form);
        ASSERT_NE(library.handle, nullptr) << dlerror();
        EXPECT_EQ(name_at(library.object(), library.exported() + 1), "named_exported+1");
    }
}

TEST(NameOfCaller, LeavesTheNameOfAPartAside) {
    const Library library(folder() + "/libnamed.so");
    const auto part = reinterpret_cast<std::uintptr_t>(dlsym(library.handle, "named_part.part.0"));
    ASSERT_NE(part, 0U) << dlerror();
    char buffer[2 * symbol_limit + 2];
    const elf::Reading reading;
    const NamedAddress found = name_of_caller(library.object(), part + 1, buffer);
    EXPECT_EQ(found.name, "named_part");
    EXPECT_EQ(found.clone, ".part.0");
    EXPECT_EQ(found.offset, 1U);
    EXPECT_FALSE(found.gave_up);
    EXPECT_EQ(name_of_caller(library.object(), library.exported() + 1, buffer).clone, "");
}

TEST(NameOfCaller, IsReadInTheFileWhereTheFunctionIsNotExported) {
    for (const char* form : {"/libnamed.so", "/libnamed_without_id.so"}) {
        const Library library(folder() + form);
        ASSERT_NE(library.handle, nullptr) << dlerror();
        EXPECT_EQ(name_at(library.object(), library.hidden() + 1), "physics::(anonymous namespace)::hidden+1");
    }
    EXPECT_EQ(name_at(elf::first_object(), reinterpret_cast<std::uintptr_t>(&hidden_in_the_program) + 1),
              "fp32shim::where::(anonymous namespace)::hidden_in_the_program+1");
}

TEST(NameOfCaller, IsEmptyWhereTheFileHasNoName) {
    const Library library(folder() + "/libnamed_stripped.so");
    ASSERT_NE(library.handle, nullptr) << dlerror();
    EXPECT_EQ(name_at(library.object(), library.hidden() + 1), "");
    EXPECT_EQ(name_at(library.object(), library.object()->l_addr), "");
    EXPECT_EQ(name_at(nullptr, library.hidden()), "");
}

TEST(NameOfCaller, IsNotReadInAnotherFileOfThatPath) {
    namespace files = std::filesystem;
    for (const char* form : {"/libnamed.so", "/libnamed_without_id.so"}) {
        const std::string path = folder() + "/replaced_" + std::to_string(getpid()) + ".so";
        files::copy_file(folder() + form, path, files::copy_options::overwrite_existing);
        const Library library(path);
        ASSERT_NE(library.handle, nullptr) << dlerror();
        EXPECT_EQ(name_at(library.object(), library.hidden() + 1), "physics::(anonymous namespace)::hidden+1");
        files::remove(path);
        EXPECT_EQ(name_at(library.object(), library.hidden() + 1), "") << "the file is gone";
        files::copy_file(folder() + "/libother.so", path);
        EXPECT_EQ(name_at(library.object(), library.hidden() + 1), "") << "the file is another one";
        files::remove(path);
        files::create_directory(path);
        EXPECT_EQ(name_at(library.object(), library.hidden() + 1), "") << "no file at all";
        files::remove(path);
        EXPECT_EQ(name_at(library.object(), library.exported() + 1), "named_exported+1") << "that is in memory";
    }
}

TEST(NameOfCaller, IsFoundForAllOfTheCLibrary) {
    const Library library("libc.so.6");
    EXPECT_EQ(name_at(library.object(), reinterpret_cast<std::uintptr_t>(dlsym(library.handle, "qsort_r")) + 4),
              "qsort_r+4");
}

TEST(NameOfCaller, NeedsNoMallocAndKeepsErrnoAndDescriptors) {
    const Library library(folder() + "/libnamed.so");
    const std::uintptr_t address = library.hidden() + 1;
    char buffer[2 * symbol_limit + 2];
    const int before = dup(0);
    close(before);
    const std::size_t used = mallinfo2().uordblks;
    errno = 77;
    for (int i = 0; i < 100; ++i) {
        const elf::Reading reading;
        EXPECT_EQ(name_of_caller(library.object(), address, buffer).offset, 1U);
    }
    EXPECT_EQ(errno, 77);
    EXPECT_EQ(mallinfo2().uordblks, used);
    const int after = dup(0);
    close(after);
    EXPECT_EQ(before, after);
}

TEST(NameOfCaller, IsLeftOutWhereTheBufferIsTooSmall) {
    const Library library(folder() + "/libnamed.so");
    char buffer[16];
    const elf::Reading reading;
    EXPECT_TRUE(name_of_caller(library.object(), library.hidden() + 1, buffer).name.empty());
    EXPECT_TRUE(name_of_caller(library.object(), library.hidden() + 1, {}).name.empty());
}

}  // namespace
}  // namespace fp32shim::where

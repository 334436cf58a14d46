// A program with NVTX ranges, compiled with the header of the CUDA toolkit. Each product has another size, by which a
// test finds it in the log. Prints the results of NVTX's functions.
//
//   ranges MODE
#include <nvtx3/nvToolsExt.h>

#include <dlfcn.h>
#include <signal.h>
#include <sys/time.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "client.h"
#include "shim/ranges/nvtx.hpp"

namespace ours = fp32shim::nvtx;

// Checks that the shim's declarations agree with the header.
static_assert(ours::callbacks_table == NVTX_ETID_CALLBACKS);
static_assert(int(ours::Module::core) == NVTX_CB_MODULE_CORE && int(ours::Module::core2) == NVTX_CB_MODULE_CORE2);
static_assert(ours::core::range_push_ex == NVTX_CBID_CORE_RangePushEx);
static_assert(ours::core::range_push_a == NVTX_CBID_CORE_RangePushA);
static_assert(ours::core::range_push_w == NVTX_CBID_CORE_RangePushW);
static_assert(ours::core::range_pop == NVTX_CBID_CORE_RangePop);
static_assert(ours::core2::range_push_ex == NVTX_CBID_CORE2_DomainRangePushEx);
static_assert(ours::core2::range_pop == NVTX_CBID_CORE2_DomainRangePop);
static_assert(ours::core2::register_string_a == NVTX_CBID_CORE2_DomainRegisterStringA);
static_assert(ours::core2::register_string_w == NVTX_CBID_CORE2_DomainRegisterStringW);
static_assert(ours::core2::domain_create_a == NVTX_CBID_CORE2_DomainCreateA);
static_assert(ours::core2::domain_create_w == NVTX_CBID_CORE2_DomainCreateW);
static_assert(int(ours::MessageType::ascii) == NVTX_MESSAGE_TYPE_ASCII);
static_assert(int(ours::MessageType::unicode) == NVTX_MESSAGE_TYPE_UNICODE);
static_assert(int(ours::MessageType::registered) == NVTX_MESSAGE_TYPE_REGISTERED);
static_assert(sizeof(ours::EventAttributes) == sizeof(nvtxEventAttributes_t));
static_assert(offsetof(ours::EventAttributes, size) == offsetof(nvtxEventAttributes_t, size));
static_assert(offsetof(ours::EventAttributes, message_type) == offsetof(nvtxEventAttributes_t, messageType));
static_assert(offsetof(ours::EventAttributes, message) == offsetof(nvtxEventAttributes_t, message));
static_assert(sizeof(ours::ExportedCallbacks) == sizeof(NvtxExportTableCallbacks));

static void product(blas_int order) {
    std::vector<float> a(4096), b(4096), c(4096);
    fill(a.data(), a.size(), 1);
    fill(b.data(), b.size(), 2);
    cblas_sgemm(column_major, no_trans, no_trans, order, order, order, 1, a.data(), order, b.data(), order, 0,
                c.data(), order);
    print_bits(std::to_string(order).c_str(), c.data(), 4);
}

static void say(const char* what, int value) { std::printf("%s: %d\n", what, value); }

static nvtxEventAttributes_t attributes() {
    nvtxEventAttributes_t result{};
    result.version = NVTX_VERSION;
    result.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    return result;
}

static nvtxEventAttributes_t named(const char* text) {
    auto result = attributes();
    result.messageType = NVTX_MESSAGE_TYPE_ASCII;
    result.message.ascii = text;
    return result;
}

static nvtxEventAttributes_t named(const wchar_t* text) {
    auto result = attributes();
    result.messageType = NVTX_MESSAGE_TYPE_UNICODE;
    result.message.unicode = text;
    return result;
}

static nvtxEventAttributes_t named(nvtxStringHandle_t text) {
    auto result = attributes();
    result.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    result.message.registered = text;
    return result;
}

/// Opens every kind of range, with every kind of message.
static void kinds() {
    product(1);
    say("push A", nvtxRangePushA("plain"));
    product(2);
    say("push W", nvtxRangePushW(L"wide \u03b1\u20ac\U0001f600"));
    product(3);
    auto event = named("attributes");
    say("push Ex", nvtxRangePushEx(&event));
    product(4);
    nvtxDomainHandle_t physics = nvtxDomainCreateA("physics");
    nvtxDomainHandle_t chemistry = nvtxDomainCreateW(L"chimie \u00e9");
    auto solve = named(nvtxDomainRegisterStringA(physics, "solve"));
    auto mix = named(nvtxDomainRegisterStringW(chemistry, L"m\u00e9lange"));
    say("push physics", nvtxDomainRangePushEx(physics, &solve));
    say("push chemistry", nvtxDomainRangePushEx(chemistry, &mix));
    product(5);
    auto wide = named(L"\u00fc");
    say("push physics", nvtxDomainRangePushEx(physics, &wide));
    product(6);
    say("pop chemistry", nvtxDomainRangePop(chemistry));
    product(7);
    say("pop", nvtxRangePop());
    product(8);
    say("pop physics", nvtxDomainRangePop(physics));
    say("pop physics", nvtxDomainRangePop(physics));
    say("pop physics", nvtxDomainRangePop(physics));
    say("pop", nvtxRangePop());
    say("pop", nvtxRangePop());
    say("pop", nvtxRangePop());
    product(9);
    auto nameless = attributes();
    say("push without message", nvtxRangePushEx(&nameless));
    product(10);
    say("pop", nvtxRangePop());
    say("same handle", nvtxDomainRegisterStringA(physics, "solve") == solve.message.registered);
    nvtxDomainDestroy(physics);
}

/// Interleaves ranges with scopes of the C API.
static void beside_the_c_api() {
    const auto push =
        reinterpret_cast<int (*)(const char*, const char*, const char*)>(dlsym(RTLD_DEFAULT, "fp32shim_push_scope"));
    const auto pop = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "fp32shim_pop_scope"));
    nvtxRangePushA("range");
    push("Model", "high", nullptr);
    product(1);
    nvtxRangePushA("inner");
    push(".encoder", nullptr, nullptr);
    product(2);
    nvtxRangePop();
    product(3);
    pop();
    product(4);
    nvtxRangePop();
    product(5);
    pop();
    product(6);
}

static void threads() {
    nvtxRangePushA("main");
    std::thread([] {
        product(1);
        nvtxRangePushA("second");
        product(2);
        nvtxRangePop();
        say("pop in the second thread", nvtxRangePop());
    }).join();
    product(3);
    nvtxRangePop();
}

static void attention() {
    for (int layer = 1; layer <= 3; ++layer) {
        nvtxRangePushA("attention.q");
        product(8 * layer);
        nvtxRangePop();
        nvtxRangePushA("mlp");
        product(8 * layer + 1);
        nvtxRangePop();
    }
}

/// Opens more of everything than the shim has space for.
static void floods() {
    for (int level = 0; level < 5000; ++level)
        if (nvtxRangePushA("deep") != level) say("wrong level", level);
    product(1);
    for (int level = 4999; level >= 0; --level)
        if (nvtxRangePop() != level) say("wrong level", level);
    nvtxRangePushA(std::string(100'000, 'x').c_str());
    nvtxRangePushA("inside");
    product(2);
    nvtxRangePop();
    nvtxRangePop();
    nvtxDomainHandle_t domain = nullptr;
    for (int i = 0; i < 1000; ++i) domain = nvtxDomainCreateA(("domain " + std::to_string(i)).c_str());
    auto event = named("label");
    say("push", nvtxDomainRangePushEx(domain, &event));
    product(3);
    say("pop", nvtxDomainRangePop(domain));
    nvtxStringHandle_t text = nullptr;
    for (int i = 0; i < 100'000; ++i) text = nvtxDomainRegisterStringA(domain, ("text " + std::to_string(i)).c_str());
    event = named(text);
    say("push", nvtxRangePushEx(&event));
    product(4);
    say("pop", nvtxRangePop());
    event = named(reinterpret_cast<nvtxStringHandle_t>(&event));
    say("push", nvtxDomainRangePushEx(reinterpret_cast<nvtxDomainHandle_t>(&event), &event));
    product(5);
    say("pop", nvtxDomainRangePop(reinterpret_cast<nvtxDomainHandle_t>(&event)));
}

/// Registers the same names on several threads at the same time. Each name must have one handle.
static void races() {
    constexpr std::size_t thread_count = 4;
    constexpr int name_count = 2000;
    std::vector<std::vector<const void*>> handles(thread_count);
    std::vector<std::thread> threads;
    for (auto& own : handles)
        threads.emplace_back([&own] {
            for (int i = 0; i < name_count; ++i) {
                const std::string name = "name " + std::to_string(i);
                own.push_back(nvtxDomainRegisterStringA(nullptr, name.c_str()));
                if (i % 20 == 0) own.push_back(nvtxDomainCreateA(name.c_str()));
                nvtxRangePushA(name.c_str());
                nvtxRangePop();
            }
        });
    for (auto& thread : threads) thread.join();
    for (const auto& own : handles) say("equal", own == handles[0]);
    std::sort(handles[0].begin(), handles[0].end());
    say("distinct", std::adjacent_find(handles[0].begin(), handles[0].end()) == handles[0].end());
}

static int (*push_scope)(const char*, const char*, const char*);
static int (*pop_scope)();

static void close_more_than_is_open(int) {
    for (int i = 0; i < 3; ++i) {
        nvtxRangePop();
        pop_scope();
    }
}

static void open_more_than_it_closes(int) {
    for (int i = 0; i < 3; ++i) nvtxRangePushA("handler");
}

/// Opens ranges and scopes, while a signal handler opens and closes some, not always in pairs.
static void signals() {
    push_scope =
        reinterpret_cast<int (*)(const char*, const char*, const char*)>(dlsym(RTLD_DEFAULT, "fp32shim_push_scope"));
    pop_scope = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "fp32shim_pop_scope"));
    // The first call of NVTX comes before the handlers, since one that interrupted it would wait for it for ever.
    nvtxRangePushA("first");
    nvtxRangePop();
    for (void (*handler)(int) : {close_more_than_is_open, open_more_than_it_closes}) {
        struct sigaction action {};
        action.sa_handler = handler;
        sigaction(SIGALRM, &action, nullptr);
        itimerval often{{0, 50}, {0, 50}};
        setitimer(ITIMER_REAL, &often, nullptr);
        for (int i = 0; i < 500'000; ++i) {
            nvtxRangePushA("range");
            push_scope("scope", nullptr, nullptr);
            nvtxRangePop();
            pop_scope();
        }
        often = {};
        setitimer(ITIMER_REAL, &often, nullptr);
    }
    while (nvtxRangePop() >= 0) {
    }
    product(1);
    say("whole", 1);
}

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    if (mode == "kinds") kinds();
    if (mode == "api") beside_the_c_api();
    if (mode == "threads") threads();
    if (mode == "attention") attention();
    if (mode == "floods") floods();
    if (mode == "races") races();
    if (mode == "signals") signals();
    return 0;
}

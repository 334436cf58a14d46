// Uses the C API by dlsym, as a program does that is not linked with the shim. See fp32shim.h.
//
//   scopes MODE

#define _GNU_SOURCE
#define FP32SHIM_IS_THE_LIBRARY  // declarations only: this client looks the functions up itself
#include "fp32shim/fp32shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "client.h"

#define FIND(name) __typeof__(name)* name##_found = (__typeof__(name)*)(uintptr_t)dlsym(RTLD_DEFAULT, #name)

static void product(blas_int order) {
    float a[64], b[64], c[64];
    fill(a, 64, 1);
    fill(b, 64, 2);
    cblas_sgemm(column_major, no_trans, no_trans, order, order, order, 1, a, order, b, order, 0, c, order);
}

static void say(const char* what, int status) {
    FIND(fp32shim_status_string);
    printf("%s: %d %s\n", what, status, fp32shim_status_string_found(status));
}

static void say_setting(void) {
    FIND(fp32shim_get_precision);
    FIND(fp32shim_get_floor);
    char precision[FP32SHIM_NAME_SIZE], source[FP32SHIM_NAME_SIZE], floor[FP32SHIM_NAME_SIZE];
    const int status = fp32shim_get_precision_found(precision, sizeof precision, source, sizeof source);
    const int floor_status = fp32shim_get_floor_found(floor, sizeof floor);
    printf("setting: %s (%s), floor %s (%d %d)\n", precision, source, floor, status, floor_status);
}

static void* other_thread(void* unused) {
    (void)unused;
    FIND(fp32shim_pop_scope);
    say("pop in another thread", fp32shim_pop_scope_found());
    say_setting();
    product(4);
    return NULL;
}

static void scopes(void) {
    FIND(fp32shim_push_scope);
    FIND(fp32shim_pop_scope);
    product(1);
    say("push", fp32shim_push_scope_found("inference", "high", NULL));
    say_setting();
    product(2);
    say("push", fp32shim_push_scope_found("layer3.attn", NULL, NULL));
    say_setting();
    product(3);
    pthread_t id;
    pthread_create(&id, NULL, other_thread, NULL);
    pthread_join(id, NULL);
    say("push", fp32shim_push_scope_found(NULL, "fp32", NULL));
    product(5);
    say("pop", fp32shim_pop_scope_found());
    say("pop", fp32shim_pop_scope_found());
    product(6);
    say("pop", fp32shim_pop_scope_found());
    product(7);
    say("pop", fp32shim_pop_scope_found());
    say("push", fp32shim_push_scope_found("bad", "hihg", NULL));
    say("push", fp32shim_push_scope_found("bad", NULL, "tf23"));
    say_setting();
}

static void process(void) {
    FIND(fp32shim_set_precision);
    say_setting();
    product(1);
    say("set", fp32shim_set_precision_found("TF32"));
    say_setting();
    product(2);
    say("set", fp32shim_set_precision_found("medium"));
    product(3);
    say("set", fp32shim_set_precision_found("bf16x9"));
    say("set", fp32shim_set_precision_found("nonsense"));
    say_setting();
    say("set", fp32shim_set_precision_found(NULL));
    say_setting();
    product(4);
}

/* Multiplies at one place, with as many changes in between as a counter of eight bits has values. */
static void changes(void) {
    FIND(fp32shim_set_precision);
    for (int round = 0; round < 2; ++round) {
        product(1);
        for (int i = 0; i < 256; ++i) fp32shim_set_precision_found(i % 2 == round ? "high" : "highest");
    }
    product(2);
}

static void floors(void) {
    FIND(fp32shim_set_floor);
    FIND(fp32shim_push_scope);
    FIND(fp32shim_pop_scope);
    product(1);
    say("push", fp32shim_push_scope_found("exact", "medium", "fp32"));
    say_setting();
    product(2);
    say("pop", fp32shim_pop_scope_found());
    say("floor", fp32shim_set_floor_found("tf32"));
    say_setting();
    product(3);
    say("floor", fp32shim_set_floor_found("bf16"));
    say_setting();
    say("floor", fp32shim_set_floor_found("nonsense"));
    say("floor", fp32shim_set_floor_found(NULL));
    say("floor", fp32shim_set_floor_found("fp32"));
    say_setting();
    product(4);
}

static void reload(void) {
    FIND(fp32shim_reload_policy);
    const char* path = getenv("FP32_MATMUL_POLICY");
    product(1);
    FILE* file = fopen(path, "w");
    fputs("schema = 1\ndefault = \"medium\"\n[cpu]\nmode = \"emulate\"\n", file);
    fclose(file);
    product(2);
    say("reload", fp32shim_reload_policy_found());
    product(3);
    file = fopen(path, "w");
    fputs("schema = 1\ndefault = \"mediun\"\n", file);
    fclose(file);
    say("reload", fp32shim_reload_policy_found());
    product(4);
}

static void limits(void) {
    FIND(fp32shim_push_scope);
    FIND(fp32shim_pop_scope);
    FIND(fp32shim_get_precision);
    FIND(fp32shim_get_floor);
    int depth = 0;
    while (fp32shim_push_scope_found("s", NULL, NULL) == FP32SHIM_OK) ++depth;
    printf("%d scopes\n", depth);
    while (fp32shim_pop_scope_found() == FP32SHIM_OK) --depth;
    printf("%d left\n", depth);
    char longest[2 * FP32SHIM_MAX_SCOPE_PATH];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    say("long label", fp32shim_push_scope_found(longest, NULL, NULL));
    say("pop", fp32shim_pop_scope_found());
    char small[3] = "??";
    say("small buffer", fp32shim_get_precision_found(small, sizeof small, NULL, 0));
    printf("buffer \"%s\"\n", small);
    say("nothing wanted", fp32shim_get_precision_found(NULL, 0, NULL, 0));
    say("floor without buffer", fp32shim_get_floor_found(NULL, 0));
}

int main(int argc, char** argv) {
    FIND(fp32shim_abi_version);
    FIND(fp32shim_version);
    if (!fp32shim_abi_version_found) {
        printf("no shim\n");
        return 0;
    }
    if (argc < 2) return 2;
    if (fp32shim_abi_version_found() != FP32SHIM_ABI_VERSION || !fp32shim_version_found()) return 1;
    if (strcmp(argv[1], "scopes") == 0) scopes();
    if (strcmp(argv[1], "process") == 0) process();
    if (strcmp(argv[1], "changes") == 0) changes();
    if (strcmp(argv[1], "floors") == 0) floors();
    if (strcmp(argv[1], "reload") == 0) reload();
    if (strcmp(argv[1], "limits") == 0) limits();
    if (strcmp(argv[1], "disabled") == 0) {
        FIND(fp32shim_set_precision);
        FIND(fp32shim_push_scope);
        FIND(fp32shim_pop_scope);
        say("set", fp32shim_set_precision_found("high"));
        say("push", fp32shim_push_scope_found("x", "high", NULL));
        say("pop", fp32shim_pop_scope_found());
        product(1);
    }
    return 0;
}

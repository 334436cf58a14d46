// Prints what oneDNN prints, in the way in which its versions do, and multiplies nothing. Times are constant, so that
// the output can be compared byte for byte.
//
// Compiled with OLD, prints as version 2.6: the level is a number, the line is the format of printf, the head comes
// in several pieces, and all streams are flushed. Otherwise prints as version 3.13: a finished line, and also errors
// unless told not to.
#include "fake_onednn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

enum { error = 1, creation = 2, execution = 4, dispatch = 8, uninitialized = -1 };
static int mode = uninitialized;
static int prints_time, head_is_printed;
static char filter[32];

static const char* user_variable(const char* first, const char* second) {
    const char* value = getenv(first);
    return value != NULL && *value != '\0' ? value : getenv(second);
}

static int mode_of(const char* value) {
#ifdef OLD
    const int level = value == NULL ? 0 : atoi(value);
    return (level > 0 ? execution : 0) | (level > 1 ? creation : 0);
#else
    int result = error;
    char copy[128] = "";
    strncat(copy, value == NULL ? "" : value, sizeof copy - 1);
    for (char *rest = copy, *word; (word = strsep(&rest, ",")) != NULL;) {
        if (strcasecmp(word, "none") == 0 || strcmp(word, "0") == 0) result = 0;
        if (strcmp(word, "1") == 0 || strcasecmp(word, "profile_exec") == 0) result |= error | execution;
        if (strcmp(word, "2") == 0) result |= error | execution | creation;
        if (strcasecmp(word, "profile_create") == 0) result |= error | creation;
        if (strcasecmp(word, "dispatch") == 0) result |= error | dispatch;
        if (strcasecmp(word, "error") == 0) result |= error;
        if (strncasecmp(word, "filter=", 7) == 0) strncat(filter, word + 7, sizeof filter - 1);
    }
    return result;
#endif
}

static void read_variables(void) {
    const char* const time = user_variable("ONEDNN_VERBOSE_TIMESTAMP", "DNNL_VERBOSE_TIMESTAMP");
    prints_time = time != NULL && atoi(time) != 0;
    if (mode == uninitialized) mode = mode_of(user_variable("ONEDNN_VERBOSE", "DNNL_VERBOSE"));
}

static int asked_for(int what) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_variables);
    return (mode & what) != 0;
}

#ifdef OLD

__attribute__((noinline)) static void print_head(void) {
    if (__atomic_exchange_n(&head_is_printed, 1, __ATOMIC_ACQ_REL)) return;
    printf("onednn_verbose,info,oneDNN v%d.%d.%d (commit %s)\n", 2, 6, 0, "N/A");
    printf("onednn_verbose,info,cpu,runtime:%s,nthr:%d\n", "OpenMP", 2);
    printf("onednn_verbose,info,experimental features are enabled\n");
    printf("onednn_verbose,info,prim_template:");
    printf(
        "%soperation,engine,primitive,implementation,prop_kind,memory_descriptors,attributes,auxiliary,problem_desc,"
        "exec_time\n",
        prints_time ? "timestamp," : "");
}

__attribute__((noinline)) static void print_line(const char* event, const char* text) {
    print_head();
    printf("onednn_verbose%s,%s,%s,%g\n", prints_time ? ",1000.5" : "", event, text, 0.5);
    fflush(NULL);
}

void fake_fail(const char* text) { (void)text; }

#else

__attribute__((noinline)) static void print_text(const char* text) {
    printf("%s", text);
    fflush(stdout);
}

__attribute__((noinline)) static void print_head(void) {
    if (__atomic_exchange_n(&head_is_printed, 1, __ATOMIC_ACQ_REL)) return;
    print_text("onednn_verbose,v1,info,oneDNN v3.13.3 (commit N/A)\n");
    print_text("onednn_verbose,v1,info,cpu,runtime:OpenMP,nthr:2\n");
    if (prints_time) print_text("onednn_verbose,v1,primitive,info,template:timestamp,operation\n");
}

__attribute__((noinline)) static void print_line(const char* event, const char* text) {
    char line[1024];
    print_head();
    snprintf(line, sizeof line, "onednn_verbose,v1%s,primitive,%s,%s,%g\n", prints_time ? ",1000.5" : "", event, text,
             0.5);
    print_text(line);
}

void fake_fail(const char* text) {
    char line[1024];
    if (!asked_for(error)) return;
    print_head();
    snprintf(line, sizeof line, "onednn_verbose,v1,primitive,error,%s\n", text);
    print_text(line);
}

#endif

void fake_execute(const char* text) {
    if (asked_for(execution) && strstr(text, filter) != NULL) print_line("exec", text);
}

void fake_create(const char* text) {
    if (asked_for(creation)) print_line("create:cache_miss", text);
    if (asked_for(dispatch)) print_line("create:dispatch", text);
}

int dnnl_set_verbose(int level) {
    if (level < 0 || level > 2) return 2;
    mode = level == 0 ? 0 : error | execution | (level == 2 ? creation : 0);
    return 0;
}

// ---- other text from the same library, as a program prints it that has oneDNN linked in

void fake_say(void) {
    int count = 0;
    char word[] = "word";
    printf("%n", &count);
    printf("%d of %ls and %s%n\n", 1, L"w\u00efde", word, &count);
    printf("%d %.3f %Lg %g %g %g %g %g %g %g %g %g %d %d %d %d %d %lld %c %5s|%-5s|\n", 1, 2.5, 3.25L, 4., 5., 6., 7.,
           8., 9., 10., 11., 12., 13, 14, 15, 16, 17, 18LL, 'c', "s", word);
    printf("%2$s %1$*3$d\n", 1, "two", 4);
    printf("constant\n");
    printf("%s\n", word);
    printf("%d\n", count);
    printf("%s", "not onednn_verbose,v1,primitive,exec,cpu,matmul\n");
    printf("%s", "");
    printf("100%%\n");
}

void fake_flush(void) { fflush(stdout); }

// Does what its arguments say, in their order, with a library of fake_onednn.c.
//
//   onednn WORD...
//     execute, execute=TEXT       a product of float32, or what the text says
//     create, fail=TEXT           another line
//     threads=N                   two threads at once, each with N executions
//     set=N, looked-up-set=N      dnnl_set_verbose(N), called directly or as dlsym of its library gives it
//     say, library-flush          print and flush in the library
//     forge                       prints a line like those of oneDNN, here in the program
//     text=TEXT, write=TEXT       printf into the buffer, and write(1)
//     flush, close, unbuffered, lines, reopen=FILE, duplicate=FILE, full-pipe    change stdout, or flush it
//     fork                        parent and child both go on, the parent after the child has ended
//     open=FILE, deepbind=FILE, close-library    dlopen another copy to use, and dlclose it. At most 8 are open.
//     kill, quick-exit
//
// LINKED: the program is linked with a library; otherwise it must open one. Writes results of its own calls to
// stderr.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libraries/fake_onednn.h"

static const char product[] =
    "cpu,matmul,brg_matmul:avx512_core,undef,src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0,"
    "attr-scratchpad:user,,64x32:32x48";

enum { most = 8 };
static struct {
    void* handle;
    void (*execute)(const char*);
    void (*create)(const char*);
    void (*fail)(const char*);
    int (*set)(int);
    void (*say)(void);
    void (*flush)(void);
} libraries[most], *library = libraries;

static void use(void* handle) {
    library->handle = handle;
    *(void**)&library->execute = dlsym(handle, "fake_execute");
    *(void**)&library->create = dlsym(handle, "fake_create");
    *(void**)&library->fail = dlsym(handle, "fake_fail");
    *(void**)&library->set = dlsym(handle, "dnnl_set_verbose");
    *(void**)&library->say = dlsym(handle, "fake_say");
    *(void**)&library->flush = dlsym(handle, "fake_flush");
}

static void open_library(const char* file, int flags) {
    void* const handle = dlopen(file, RTLD_LAZY | flags);
    if (handle == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    if (library->execute != NULL) ++library;
    use(handle);
}

static void close_library(void) {
    fprintf(stderr, "dlclose %d\n", dlclose(library->handle));
    memset(library, 0, sizeof *library);
    if (library != libraries) --library;
}

static void* execute_often(void* count) {
    for (long i = *(const long*)count; i > 0; --i) library->execute(product);
    return NULL;
}

static void run_threads(long count) {
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, execute_often, &count);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static void fork_and_wait(void) {
    const pid_t child = fork();
    int status = 0;
    if (child > 0) waitpid(child, &status, 0);
    if (status != 0) fprintf(stderr, "the child ended with %d\n", status);
}

static void duplicate(const char* file) {
    const int descriptor = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(descriptor, 1);
    close(descriptor);
}

static int is(const char* word, const char* verb) { return strcmp(word, verb) == 0; }

static const char* after(const char* word, const char* verb) {
    const size_t size = strlen(verb);
    return strncmp(word, verb, size) == 0 && word[size] == '=' ? word + size + 1 : NULL;
}

static int act_in_library(const char* word) {
    const char* text;
    if (is(word, "execute")) {
        errno = 77;
        library->execute(product);
        fprintf(stderr, "errno %d\n", errno);
    } else if ((text = after(word, "execute")) != NULL)
        library->execute(text);
    else if (is(word, "create"))
        library->create(product);
    else if ((text = after(word, "fail")) != NULL)
        library->fail(text);
    else if ((text = after(word, "threads")) != NULL)
        run_threads(atol(text));
    else if ((text = after(word, "looked-up-set")) != NULL)
        fprintf(stderr, "%s gives %d\n", word, library->set(atoi(text)));
#ifdef LINKED
    else if ((text = after(word, "set")) != NULL)
        fprintf(stderr, "%s gives %d\n", word, dnnl_set_verbose(atoi(text)));
#endif
    else if (is(word, "say"))
        library->say();
    else if (is(word, "library-flush"))
        library->flush();
    else
        return 0;
    return 1;
}

static int act_on_stdout(const char* word) {
    const char* text;
    if (is(word, "forge"))
        printf("onednn%s,v1,primitive,exec,%s,%g\n", "_verbose", product, 0.5);  // `verify` looks for the whole word
    else if ((text = after(word, "text")) != NULL)
        printf("%s", text);
    else if ((text = after(word, "write")) != NULL)
        fprintf(stderr, "write %zd\n", write(1, text, strlen(text)));
    else if (is(word, "flush"))
        fprintf(stderr, "fflush %d\n", fflush(stdout));
    else if (is(word, "close"))
        close(1);
    else if (is(word, "unbuffered"))
        setvbuf(stdout, NULL, _IONBF, 0);
    else if (is(word, "lines"))
        setvbuf(stdout, NULL, _IOLBF, 100);
    else if ((text = after(word, "reopen")) != NULL)
        fprintf(stderr, "freopen %d\n", freopen(text, "w", stdout) != NULL);
    else if ((text = after(word, "duplicate")) != NULL)
        duplicate(text);
    else if (is(word, "full-pipe"))
        for (int i = 0; i < 20000; ++i) printf("line %d\n", i);
    else
        return 0;
    return 1;
}

static int act(const char* word) {
    const char* text;
    if (is(word, "fork"))
        fork_and_wait();
    else if ((text = after(word, "open")) != NULL)
        open_library(text, 0);
    else if ((text = after(word, "deepbind")) != NULL)
        open_library(text, RTLD_DEEPBIND);
    else if (is(word, "close-library"))
        close_library();
    else if (is(word, "kill"))
        raise(SIGKILL);
    else if (is(word, "quick-exit"))
        _exit(3);
    else
        return 0;
    return 1;
}

int main(int count, char** words) {
#ifdef LINKED
    library->execute = fake_execute;
    library->create = fake_create;
    library->fail = fake_fail;
    Dl_info info;
    dladdr((void*)fake_say, &info);
    void* const handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle != NULL) *(void**)&library->set = dlsym(handle, "dnnl_set_verbose");
    library->say = fake_say;
    library->flush = fake_flush;
#endif
    for (int i = 1; i < count; ++i) {
        if (act_in_library(words[i]) || act_on_stdout(words[i]) || act(words[i])) continue;
        fprintf(stderr, "unknown: %s\n", words[i]);
        return 2;
    }
    return 0;
}

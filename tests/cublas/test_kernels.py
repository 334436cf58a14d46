"""Kernels that a program launches on a GPU are recorded, and the program runs as without the shim.

The driver's stand-in counts launches by name. What it counts without the shim is what is expected.
"""

import json
import os
import subprocess

import pytest

import images
import shim
from command import build, fp32shim
from cublas import CLIENTS, STAND_IN, need
from kernels import DRIVER_API, REPLAY, counts_of, environment, rows_of, run

WAYS = [("kernels", "linked"), *(("kernels_dlopen", way) for way in ("dlsym", "proc", "proc_v1", "asked"))]


@pytest.fixture
def files(tmp_path):
    found = {name: tmp_path / name for name in ("ptx", "fatbin")}
    found["ptx"].write_bytes(images.ptx("one", "two"))
    found["fatbin"].write_bytes(images.fatbin(images.ptx("three"), images.ptx("four")))
    return found


@pytest.fixture
def compared(tmp_path):
    """Runs a program twice: it prints, ends and launches the same under the shim. Returns the run without the shim, and the rows
    recorded with it."""
    def compare(words, status=0, **variables):
        need(shim.LIBRARY.exists(), f"{shim.LIBRARY} was not built")
        if not isinstance(words[0], str) or "/" not in words[0]:
            need((CLIENTS / words[0]).exists(), f"{words[0]} was not built")
            words = [CLIENTS / words[0], *words[1:]]
        plain = run(words, tmp_path, **variables)
        assert plain.status == status, plain.stderr
        log = tmp_path / "log"
        log.mkdir()
        assert run(words, tmp_path, log / "run.fp32rec", **variables) == plain
        return plain, rows_of(*log.iterdir()) if list(log.iterdir()) else []
    return compare


# ---- each launch is counted


@pytest.mark.parametrize("ptsz", [[], ["--ptsz"]], ids=["legacy", "ptsz"])
@pytest.mark.parametrize("client, way", WAYS)
def test_every_launch_is_counted_under_its_kernel_in_every_way(compared, files, client, way, ptsz):
    plain, rows = compared([client, "--by", way, *ptsz, f"load:{files['ptx']}", "get:one", "launch:3", "launchex:20", "cooperative:100",
                            f"library:{files['fatbin']}", "kernel:three", "launch:4", "function", "launchex:30", "module", "get:four",
                            "cooperative:200", "unload", "static", "enumerate", "launch:5", "static_library", "enumerate_kernels",
                            "launch:50"])
    assert counts_of(rows) == {name: direct for name, (direct, _) in plain.launches.items()}
    assert counts_of(rows) == {"one": 123, "three": 34, "four": 200, "static_kernel": 55}
    assert {(row["caller"], row["provider"], row["device"]) for row in rows} == {(client, "libcuda.so.1", "cuda")}


@pytest.mark.parametrize("ptsz", [[], ["--ptsz"]], ids=["legacy", "ptsz"])
@pytest.mark.parametrize("client, way", WAYS)
def test_a_graph_counts_its_kernels_when_they_are_put_into_it_and_each_replay(compared, files, client, way, ptsz):
    plain, rows = compared([client, "--by", way, *ptsz, f"load:{files['ptx']}", "get:one", "capture:2", "replay:50", "drop_graph",
                            f"library:{files['fatbin']}", "kernel:three", "node:1", "any_node:3", "replay:3", "module", "get:four",
                            "set_exec", "replay:4", "set_node", "clone", "replay:5", "child", "replay:6", "capture_replay:7", "replay:8"])
    assert plain.launches == {"one": (0, 100), "three": (0, 4 * 3 + 3 * (4 + 5 + 6 + 7 * 8)), "four": (0, 4 + 5 + 6 + 7 * 8)}
    assert counts_of(rows) == {"one": 2, "three": 4, "four": 2, REPLAY: 50 + 3 + 4 + 5 + 6 + 7 + 8}


@pytest.mark.parametrize("load", ["load", "load_ex", "file", "fatbin", "library", "library_fatbin", "library_file"])
def test_kernels_of_images_loaded_in_every_way_are_known(compared, files, load):
    enumerate = "enumerate_kernels" if "library" in load else "enumerate"
    plain, rows = compared(["kernels", f"{load}:{files['fatbin']}", enumerate, "launch:2"])
    assert counts_of(rows) == {"three": 2, "four": 2}
    assert {(row["applied"], row["detail"]) for row in rows} == {("fp32", None)}


@pytest.mark.parametrize("variable", ["LD_BIND_NOW", "LD_BIND_NOT"])
@pytest.mark.parametrize("client", ["kernels", "kernels_dlopen"])
def test_it_does_not_matter_when_the_loader_binds_functions(compared, files, client, variable):
    _, rows = compared([client, f"load:{files['ptx']}", "get:one", "launch:3", "gemm:1", "capture_gemm:1", "replay:2"], **{variable: "1"})
    assert counts_of(rows) == {"one": 3, REPLAY: 2}


def test_launches_of_threads_are_all_counted(compared, files):
    plain, rows = compared(["kernels", "--threads", 4, f"load:{files['ptx']}", "enumerate", "launch:1000", "launchex:1000", "capture:1",
                            "replay:100"])
    assert counts_of(rows) == {"one": 8001, "two": 8001, REPLAY: 400}


def test_a_refused_launch_is_not_counted(compared, files):
    plain, rows = compared(["kernels", f"load:{files['ptx']}", "get:one", "launch", "unload", "refused"])
    assert counts_of(rows) == {"one": 1}


def test_an_address_that_the_driver_gives_again_after_an_unload_stands_for_the_new_kernel(compared, files):
    plain, rows = compared(["kernels", f"load:{files['ptx']}", "get:one", "launch:2", "unload", f"load:{files['fatbin']}", "get:four",
                            "launch:3", "unload", f"library:{files['ptx']}", "kernel:two", "launch:5", "function", "launch:6", "unload",
                            f"library:{files['fatbin']}", "kernel:three", "function", "launch:7"])
    assert counts_of(rows) == {name: direct for name, (direct, _) in plain.launches.items()}
    assert counts_of(rows) == {"one": 2, "four": 3, "two": 11, "three": 7}


def test_a_forked_child_records_its_launches_into_its_own_file(compared, files, tmp_path):
    _, rows = compared(["kernels", "static", "get:static_kernel", "launch:4", "fork", "launch:3", f"load:{files['ptx']}", "get:two",
                        "launch:2"])
    assert counts_of(rows) == {"static_kernel": 7, "two": 2}
    recordings = sorted((tmp_path / "log").iterdir())
    assert sorted(counts_of(rows_of(one)).get("static_kernel") for one in recordings) == [3, 4]


def test_a_kernel_whose_look_up_nobody_saw_is_unknown(compared, files):
    _, rows = compared(["kernels_dlopen", f"unseen_load:{files['ptx']}", "unseen_get:one", "launch:2"])
    row, = rows
    assert (row["function"], row["calls"], row["applied"]) == ("kernel:unknown", 2, "unchanged") and row["detail"]


@pytest.mark.parametrize("name, applied", [("one", "unchanged"), ("ampere_sgemm_128x64_nn", "unchanged"),
                                           ("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n", "tf32")])
def test_the_name_of_a_kernel_whose_code_nobody_saw_is_believed_if_it_is_below_float32(compared, tmp_path, name, applied):
    (tmp_path / "ptx").write_bytes(images.ptx(name))
    _, rows = compared(["kernels_dlopen", f"unseen_load:{tmp_path / 'ptx'}", f"get:{name}", "launch:2"])
    row, = rows
    assert (row["function"], row["calls"], row["applied"]) == (f"kernel:{name}", 2, applied)
    assert (applied == "tf32") == (row["detail"] is None) and (applied == "tf32" or "code that was not read" in row["detail"])


def test_launches_that_nobody_sees_are_not_counted(compared, files):
    _, rows = compared(["kernels_dlopen", f"load:{files['ptx']}", "get:one", "unseen_launch:2", "launch:3"])
    assert counts_of(rows) == {"one": 3}


def test_the_kernel_inside_a_product_of_cublas_belongs_to_the_product(compared, files):
    _, rows = compared(["kernels", f"load:{files['ptx']}", "get:one", "launch:2", "gemm:3", "capture_gemm:1", "replay:5"],
                       STAND_IN_CUBLAS_KERNEL="ampere_sgemm_128x64_nn")
    assert counts_of(rows) == {"one": 2, REPLAY: 5}


# ---- programs in C; some with a driver of a few lines, whose functions a signal handler may call

TINY_DRIVER = DRIVER_API + """
    static long launches;
    static char functions[64];
    static char* module = "module";
    Result cuInit(unsigned flags) { return 0; }
    Result cuDevicePrimaryCtxRetain(void** context, int device) { return 0; }
    Result cuCtxSetCurrent(void* context) { return 0; }
    Result cuDeviceGetCount(int* count) { *count = 1; return 0; }
    Result cuCtxGetDevice(int* device) { *device = 0; return 0; }
    Result cuDeviceGetAttribute(int* value, int attribute, int device) { *value = attribute == 75 ? 8 : 0; return 0; }
    Result cuModuleLoadData(void** result, const void* image) { *result = &module; return 0; }
    Result cuModuleGetFunction(void** result, void* of, const char* name) { *result = functions + 16 * (name[0] & 3); return 0; }
    Result cuModuleUnload(void* of) { return 1; }
    Result cuLaunchKernel(void* function, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f, unsigned g,
                          void* stream, void** h, void** i) {
        errno = 7;
        __atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED);
        return 0;
    }
    long count_of_launches(void) { return launches; }
"""


@pytest.fixture
def compiled(tmp_path):
    """Compiles a program that is linked with the driver's stand-in, or with a driver of its own."""
    def compile_(source, *options, driver=None, linked=True):
        library = STAND_IN / "libcuda.so.1"
        if driver:
            (tmp_path / "driver").mkdir(exist_ok=True)
            library = build(tmp_path / "driver/libcuda.so.1", driver, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
        words = ["-x", "none", library, "-Wl,--allow-shlib-undefined"] if linked else []
        return build(tmp_path / "program", DRIVER_API + source, "-x", "none", *options, *words, "-ldl", "-lpthread")
    return compile_


def test_a_buffer_that_is_filled_again_hides_no_image(compared, compiled, tmp_path):
    for name, body in (("full", "ret;"), ("lower", images.TF32)):
        (tmp_path / name).write_bytes(images.ptx("gemm", body=body))
    program = compiled("""
        static char buffer[65536];
        static void* load(const char* path) {
            void *module = NULL, *function = NULL;
            memset(buffer, 0, sizeof buffer);
            FILE* file = fopen(path, "r");
            if (fread(buffer, 1, sizeof buffer - 1, file) == 0) exit(1);
            fclose(file);
            require(cuModuleLoadData(&module, buffer));
            require(cuModuleGetFunction(&function, module, "gemm"));
            return function;
        }
        int main(int count, char** files) {
            start();
            void *first = load(files[1]), *second = load(files[2]);
            launch(first);
            launch(second);
            launch(second);
            return 0;
        }""")
    _, rows = compared([program, tmp_path / "full", tmp_path / "lower"])
    assert sorted((row["calls"], row["applied"], "TF32" in (row["detail"] or "")) for row in rows) == [(1, "fp32", False), (2, "unchanged", True)]


@pytest.mark.parametrize("size", [100, 70_000, 20_000_000])
def test_an_image_may_end_at_the_end_of_what_can_be_read(compared, compiled, size):
    program = compiled("""
        int main(int count, char** words) {
            const char text[] = ".version 7.0\\n.target sm_52\\n.address_size 64\\n.visible .entry last() { ret; }\\n";
            const long size = atol(words[1]), room = (size + sizeof text + 4095) / 4096 * 4096;
            char* pages = mmap(NULL, room + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            mprotect(pages + room, 4096, PROT_NONE);
            char* begin = pages + room - sizeof text - size;
            memset(begin, ' ', size);
            memcpy(begin + size, text, sizeof text);
            memcpy(begin, "//\\n", 3);
            void *module = NULL, *function = NULL;
            start();
            require(cuModuleLoadData(&module, begin));
            munmap(pages, room);
            require(cuModuleGetFunction(&function, module, "last"));
            launch(function);
            return 0;
        }""")
    _, rows = compared([program, size])
    assert [(row["function"], row["applied"], row["detail"]) for row in rows] == [("kernel:last", "fp32", None)]


def test_a_library_may_be_closed_while_its_image_is_read(compiled, tmp_path):
    (tmp_path / "image").write_bytes(images.ptx(*(f"kernel_{number}" for number in range(200_000))) + b"\0")
    build(tmp_path / "plugin.so", f"""
        __asm__(".section .rodata\\n.globl image\\nimage: .incbin \\"{tmp_path / 'image'}\\"\\n.text");
        """, "-shared", "-fPIC")
    program = compiled("""
        static void* run(void* function) {
            launch(function);
            return NULL;
        }
        int main(int count, char** files) {
            void *module = NULL, *function = NULL;
            pthread_t thread;
            start();
            void* plugin = dlopen(files[1], RTLD_NOW);
            require(cuModuleLoadData(&module, dlsym(plugin, "image")));
            require(cuModuleGetFunction(&function, module, "kernel_7"));
            pthread_create(&thread, NULL, run, function);
            usleep(atoi(files[2]));
            dlclose(plugin);
            pthread_join(thread, NULL);
            return 0;
        }""", driver=TINY_DRIVER)
    for microseconds in (0, 5_000, 15_000):
        done = subprocess.run([program, tmp_path / "plugin.so", str(microseconds)], check=False,
                              env=environment(tmp_path / "launches", tmp_path / "run.fp32rec", LD_LIBRARY_PATH=str(tmp_path / "driver")))
        assert done.returncode == 0
        row, = rows_of(tmp_path / "run.fp32rec")
        (tmp_path / "run.fp32rec").unlink()
        assert (row["applied"], row["detail"]) in (("fp32", None), ("unchanged", "is in an image that could not be read"))


def test_an_image_that_comes_through_a_pipe_hangs_nothing(compared, compiled, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    program = compiled("""
        Result cuModuleLoad(void**, const char*);
        static const char text[] = ".version 7.0\\n.target sm_52\\n.visible .entry one() { ret; }\\n";
        static void* write_image(void* path) {
            FILE* file = fopen(path, "w");
            fputs(text, file);
            fclose(file);
            return NULL;
        }
        int main(int count, char** words) {
            void *module = NULL, *function = NULL;
            pthread_t writer;
            start();
            pthread_create(&writer, NULL, write_image, words[1]);
            require(cuModuleLoad(&module, words[1]));
            pthread_join(writer, NULL);
            require(cuModuleGetFunction(&function, module, "one"));
            launch(function);
            return 0;
        }""")
    _, rows = compared([program, tmp_path / "pipe"])
    assert [(row["function"], row["detail"]) for row in rows] == [("kernel:one", "is in an image that could not be read")]


@pytest.mark.parametrize("second", ["full", "again"])
def test_a_kernel_is_not_judged_by_another_file_at_the_address_of_its_image(compared, compiled, tmp_path, second):
    for path, body in (("full", "ret;".rjust(len(images.TF32))), ("again", images.TF32), ("lower", images.TF32)):
        text = images.ptx("gemm", body=body.replace("\n", " ")).decode().replace("\n", "\\n")
        build(tmp_path / f"{path}.so", f'const char image[] = "{text}";', "-shared", "-fPIC")
    program = compiled("""
        static const void* opened(const char* path, void** handle) {
            *handle = dlopen(path, RTLD_NOW);
            return dlsym(*handle, "image");
        }
        int main(int count, char** files) {
            void *first = NULL, *second = NULL, *module = NULL, *function = NULL;
            start();
            const void* image = opened(files[1], &first);
            require(cuModuleLoadData(&module, image));
            require(cuModuleGetFunction(&function, module, "gemm"));
            dlclose(first);
            if (opened(files[2], &second) != image) return 77;
            launch(function);
            return 0;
        }""")
    _, rows = compared([program, tmp_path / "lower.so", tmp_path / f"{second}.so"])
    assert [(row["applied"], row["detail"]) for row in rows] == [("unchanged", "is in an image that could not be read")]


def test_each_of_many_kernels_of_an_image_is_counted(compared, tmp_path):
    names = [f"kernel_{number}" for number in range(3000)]
    (tmp_path / "ptx").write_bytes(images.ptx(*names))
    _, rows = compared(["kernels", f"load:{tmp_path / 'ptx'}", "enumerate", "launch:2", "enumerate", "launch:1"])
    assert counts_of(rows) == dict.fromkeys(names, 3)


def test_a_library_that_cannot_be_unloaded_by_its_module_stays_known(compared, compiled):
    program = compiled("""
        int main(void) {
            static const char text[] = ".version 7.0\\n.target sm_52\\n.visible .entry one() { ret; }\\n";
            void *library = NULL, *module = NULL, *kernel = NULL, *function = NULL;
            start();
            require(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
            require(cuLibraryGetKernel(&kernel, library, "one"));
            require(cuLibraryGetModule(&module, library));
            require(cuModuleGetFunction(&function, module, "one"));
            printf("%d\\n", cuModuleUnload(module));
            launch(kernel);
            launch(function);
            require(cuLibraryUnload(library));
            printf("%d\\n", cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
            return 0;
        }""")
    plain, rows = compared([program])
    assert plain.stdout == "800\n400\n" and counts_of(rows) == {"one": 2}


def test_signal_handlers_may_launch_at_any_moment(compared, compiled, tmp_path):
    program = compiled("""
        long count_of_launches(void);
        static void* functions[4];
        static long mine;
        static void handle(int signal) { launch(functions[0]); ++mine; }
        int main(void) {
            void* module = NULL;
            static char text[] = ".version 7.0\\n.target sm_52\\n.visible .entry a() { ret; }\\n.visible .entry b() { ret; }\\n";
            struct itimerval every = {{0, 50}, {0, 50}};
            const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
            long main_thread = 0;
            start();
            require(cuModuleLoadData(&module, text));
            require(cuModuleGetFunction(&functions[0], module, "a"));
            sigaction(SIGALRM, &action, NULL);
            setitimer(ITIMER_REAL, &every, NULL);
            while (*(volatile long*)&mine < 2000) {
                void* function = NULL;
                require(cuModuleLoadData(&module, text));
                require(cuModuleGetFunction(&function, module, "b"));
                launch(function);
                ++main_thread;
            }
            every.it_interval.tv_usec = every.it_value.tv_usec = 0;
            setitimer(ITIMER_REAL, &every, NULL);
            fprintf(stderr, "%ld %ld %ld\\n", mine, main_thread, count_of_launches());
            return 0;
        }""", driver=TINY_DRIVER)
    log = tmp_path / "run.fp32rec"
    done = run([program], tmp_path, log, LD_LIBRARY_PATH=str(tmp_path / "driver"))
    assert done.status == 0
    by_handler, by_main, total = map(int, done.stderr.split())
    counts = counts_of(rows_of(log))
    assert sum(counts.values()) == total == by_handler + by_main
    assert set(counts) <= {"a", "b"} and counts["b"] == by_main, counts


@pytest.mark.parametrize("looks_up", ["parent", "child"])
def test_a_function_of_the_driver_that_is_not_known_is_a_doubt_in_a_forked_child(tmp_path, compiled, looks_up):
    program = compiled("""
        #include <sys/wait.h>
        Result cuGetProcAddress(const char* name, void** address, int version, unsigned long long flags);
        static void work(void) {
            static const char text[] = ".version 7.0\\n.target sm_52\\n.visible .entry a() { ret; }\\n";
            void *module = NULL, *function = NULL;
            start();
            require(cuModuleLoadData(&module, text));
            require(cuModuleGetFunction(&function, module, "a"));
            launch(function);
        }
        int main(int count, char** words) {
            void* address = NULL;
            const int is_parent = strcmp(words[1], "parent") == 0;
            work();
            if (is_parent) require(cuGetProcAddress("cuLaunchKernel", &address, 0, 0));
            const pid_t child = fork();
            if (child != 0) return waitpid(child, NULL, 0) != child;
            if (!is_parent) require(cuGetProcAddress("cuLaunchKernel", &address, 0, 0));
            work();
            return 0;
        }""", driver=TINY_DRIVER + """
        static Result of_another_version(void) { return 0; }
        Result cuGetProcAddress(const char* name, void** address, int version, unsigned long long flags) {
            *address = (void*)of_another_version;
            return 0;
        }""")
    log = tmp_path / "log/run.fp32rec"
    log.parent.mkdir()
    assert run([program, looks_up], tmp_path, log, LD_LIBRARY_PATH=str(tmp_path / "driver")).status == 0
    child, = set(log.parent.iterdir()) - {log}
    assert counts_of(rows_of(child)) == {"a": 1}
    assert "some kernels that it launched on a GPU may not be recorded" in fp32shim("verify", "--at-least", "fp32", child).stdout


def test_a_driver_that_is_closed_and_opened_again_is_seen_again(tmp_path, compiled):
    program = compiled("""
        int main(void) {
            for (int round = 0; round < 3; ++round) {
                void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
                Result (*load)(void**, const void*) = dlsym(driver, "cuModuleLoadData");
                Result (*get)(void**, void*, const char*) = dlsym(driver, "cuModuleGetFunction");
                Launch* launch_it = dlsym(driver, "cuLaunchKernel");
                void *module = NULL, *function = NULL;
                require(load(&module, ".version 7.0\\n.target sm_52\\n.visible .entry a() { ret; }\\n"));
                require(get(&function, module, "a"));
                for (int i = 0; i <= round; ++i) require(launch_it(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
                printf("%ld\\n", ((long (*)(void))dlsym(driver, "count_of_launches"))());
                dlclose(driver);
            }
            return 0;
        }""", driver=TINY_DRIVER, linked=False)
    log = tmp_path / "run.fp32rec"
    done = run([program], tmp_path, log, LD_LIBRARY_PATH=str(tmp_path / "driver"))
    assert (done.status, done.stdout, done.stderr) == (0, "1\n2\n3\n", "")
    assert counts_of(rows_of(log)) == {"a": 6}


def test_a_launch_leaves_errno_as_the_driver_set_it(tmp_path, compiled):
    program = compiled("""
        int main(void) {
            void *module = NULL, *function = NULL;
            start();
            require(cuModuleLoadData(&module, ".version 7.0\\n.target sm_52\\n.visible .entry a() { ret; }\\n"));
            require(cuModuleGetFunction(&function, module, "a"));
            for (int i = 0; i < 3; ++i) {
                errno = 0;
                launch(function);
                printf("%d\\n", errno);
            }
            errno = 9;
            require(cuModuleGetFunction(&function, module, "b"));
            printf("%d\\n", errno);
            return 0;
        }""", driver=TINY_DRIVER)
    done = run([program], tmp_path, tmp_path / "run.fp32rec", LD_LIBRARY_PATH=str(tmp_path / "driver"))
    assert done.stdout == "7\n7\n7\n9\n"


@pytest.mark.parametrize("binding", [["-Wl,-z,now"], ["-Wl,-z,lazy"]], ids=["now", "lazy"])
@pytest.mark.parametrize("asked", ["0", "1"])
def test_a_program_without_a_driver_finds_none(tmp_path, compiled, asked, binding):
    program = compiled("""
        #pragma weak cuLaunchKernel
        Result cuGetProcAddress_v2(const char*, void**, int, unsigned long, void*);
        #pragma weak cuGetProcAddress_v2
        int main(void) {
            printf("%d %d\\n", cuLaunchKernel == NULL, cuGetProcAddress_v2 == NULL);
            printf("%d", dlsym(RTLD_DEFAULT, "cuLaunchKernel") == NULL);
            printf(" %d\\n", dlerror() != NULL);
            return 0;
        }""", *binding, linked=False)
    done = run([program], tmp_path, tmp_path / "run.fp32rec", FP32_MATMUL_KERNELS=asked)
    assert (done.stdout, done.stderr, done.status) == ("1 1\n1 1\n", "", 0)


@pytest.mark.parametrize("asked, library", [(None, "libcuda.so.1"), ("0", "libcuda.so.1"), ("1", "libfp32shim.so")])
def test_a_linked_program_calls_the_driver_itself_unless_kernels_are_asked_for(compiled, tmp_path, asked, library):
    program = compiled("""
        int main(void) {
            Dl_info info;
            dladdr((void*)cuLaunchKernel, &info);
            puts(strrchr(info.dli_fname, '/') + 1);
            return 0;
        }""", "-fPIC", "-pie")
    variables = shim.environment(libraries=[STAND_IN], preload=[shim.LIBRARY], env={"FP32_MATMUL_KERNELS": asked} if asked else {})
    done = subprocess.run([program], env=variables, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == (library + "\n", "", 0)


def test_a_policy_may_ask_for_kernels_whatever_its_name(compiled, tmp_path):
    program = compiled(TWO_LAUNCHES.replace("BEFORE", "").replace("BETWEEN", ""))
    (tmp_path / "0.toml").write_text(f'schema = 1\n[log]\npath = "{tmp_path / "run.fp32rec"}"\nkernels = true\n')
    variables = shim.environment(libraries=[STAND_IN], preload=[shim.LIBRARY], env={"FP32_MATMUL_POLICY": "0.toml"})
    done = subprocess.run([program], env=variables, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert counts_of(rows_of(tmp_path / "run.fp32rec")) == {"one": 3}


@pytest.mark.parametrize("asked", ["0", "1"])
def test_variables_with_names_of_the_drivers_functions_are_a_linked_librarys_own(tmp_path, asked):
    library = build(tmp_path / "libvariables.so", """
        int (*cuLaunchKernel)(int);
        int (*cuModuleLoadData)(int) = 0;
        static int twice(int value) { return 2 * value; }
        int use(int value) {
            if (cuLaunchKernel || cuModuleLoadData) return -1;
            cuLaunchKernel = cuModuleLoadData = twice;
            return cuLaunchKernel(value);
        }""", "-shared", "-fPIC")
    program = build(tmp_path / "program", "int use(int); int main(void) { return use(21); }", "-x", "none", library,
                    f"-Wl,-rpath,{tmp_path}")
    variables = shim.environment(preload=[shim.LIBRARY], env={"FP32_MATMUL_KERNELS": asked})
    done = subprocess.run([program], env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (42, "")


def test_threads_that_launch_a_kernel_for_the_first_time_at_the_same_time_are_counted(compared, tmp_path):
    names = [f"kernel_{i}" for i in range(200)]
    (tmp_path / "ptx").write_bytes(images.ptx(*names))
    plain, rows = compared(["kernels", "--threads", 8, f"load:{tmp_path / 'ptx'}", "enumerate", "launch:1"])
    assert counts_of(rows) == dict.fromkeys(names, 8)
    assert {(row["applied"], row["detail"]) for row in rows} == {("fp32", None)}


LOOK_UPS = """
    static void show(const char* how, void* address) {
        Dl_info info;
        if (address == NULL || dladdr(address, &info) == 0) {
            printf("%s none\\n", how);
            return;
        }
        const char* slash = strrchr(info.dli_fname, '/');
        printf("%s %s %lx\\n", how, slash ? slash + 1 : info.dli_fname, (long)((char*)address - (char*)info.dli_fbase));
    }
    static Result (*ask)(const char*, void**, int, unsigned long, void*);
    static Result (*ask_v1)(const char*, void**, int, unsigned long);
    int main(int count, char** words) {
        void* driver = dlopen("libcuda.so.1", RTLD_NOW | (count > 1 ? RTLD_GLOBAL : RTLD_LOCAL));
        const char* names[] = {"cuLaunchKernel", "cuLaunchKernel_ptsz", "cuModuleLoadData", "cuGraphAddNode", "cuGetProcAddress_v2"};
        ask = dlsym(driver, "cuGetProcAddress_v2");
        ask_v1 = dlsym(driver, "cuGetProcAddress");
        for (unsigned i = 0; i < sizeof names / sizeof *names; ++i) {
            show(names[i], dlsym(driver, names[i]));
            show("default", dlsym(RTLD_DEFAULT, names[i]));
            show("next", dlsym(RTLD_NEXT, names[i]));
            show("program", dlsym(dlopen(NULL, RTLD_NOW), names[i]));
            printf("error %d\\n", dlerror() != NULL);
            void* found = NULL;
            long status = 0;
            ask(names[i], &found, 13000, 0, &status);
            show("proc", found);
            ask_v1(names[i], &found, 13000, 2);
            show("proc_v1", found);
        }
        return 0;
    }"""


@pytest.mark.parametrize("visibility", [[], ["global"]], ids=["local", "global"])
def test_lookups_find_the_driver_s_own_functions_unless_kernels_are_asked_for(tmp_path, compiled, visibility):
    program = compiled(LOOK_UPS, linked=False)
    plain = run([program, *visibility], tmp_path)
    off = run([program, *visibility], tmp_path, tmp_path / "off.fp32rec", FP32_MATMUL_KERNELS="0")
    assert off == plain and "libcuda.so.1" in plain.stdout and (not visibility) == ("default none" in plain.stdout)
    on = run([program, *visibility], tmp_path, tmp_path / "on.fp32rec")
    assert "libcuda.so.1" not in on.stdout and "libfp32shim.so" in on.stdout
    mine, theirs = on.stdout.splitlines(), plain.stdout.splitlines()
    assert [line.split()[0] for line in mine] == [line.split()[0] for line in theirs]
    assert [line for line in mine if line.split()[0] == "error" or "none" in line] == [
        line for line in theirs if line.split()[0] == "error" or "none" in line]


def test_threads_may_load_launch_and_unload_at_the_same_time(compared, compiled):
    program = compiled("""
        static char names[4][16];
        static void* repeat(void* argument) {
            char text[200];
            const char* name = argument;
            snprintf(text, sizeof text, ".version 7.0\\n.target sm_52\\n.visible .entry %s() { ret; }\\n", name);
            start();
            for (int i = 0; i < 2000; ++i) {
                void *module = NULL, *function = NULL;
                require(cuModuleLoadData(&module, text));
                require(cuModuleGetFunction(&function, module, name));
                launch(function);
                require(cuModuleUnload(module));
            }
            return NULL;
        }
        int main(void) {
            pthread_t threads[4];
            for (int i = 0; i < 4; ++i) {
                snprintf(names[i], sizeof names[i], "kernel_%d", i);
                pthread_create(&threads[i], NULL, repeat, names[i]);
            }
            for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
            return 0;
        }""")
    _, rows = compared([program])
    assert counts_of(rows) == {f"kernel_{i}": 2000 for i in range(4)}
    assert {(row["applied"], row["detail"]) for row in rows} == {("fp32", None)}


def test_libraries_may_launch_from_constructors_and_destructors(compared, compiled, tmp_path):
    library = build(tmp_path / "libplugin.so", DRIVER_API + """
        static void *module, *function;
        __attribute__((constructor)) static void begin(void) {
            start();
            require(cuModuleLoadData(&module, ".version 7.0\\n.target sm_52\\n.visible .entry plugin() { ret; }\\n"));
            require(cuModuleGetFunction(&function, module, "plugin"));
            launch(function);
        }
        void run(void) { launch(function); }
        __attribute__((destructor)) static void end(void) {
            launch(function);
            require(cuModuleUnload(module));
        }""", "-shared", "-fPIC", "-x", "none", STAND_IN / "libcuda.so.1")
    program = compiled("""
        int main(int count, char** words) {
            for (int i = 0; i < 3; ++i) {
                void* plugin = dlopen(words[1], RTLD_NOW);
                if (plugin == NULL) return 1;
                ((void (*)(void))dlsym(plugin, "run"))();
                dlclose(plugin);
            }
            return 0;
        }""", "-Wl,--no-as-needed")
    plain, rows = compared([program, library])
    assert counts_of(rows)["plugin"] == plain.launches["plugin"][0] == 3 * 3
    assert {row["caller"] for row in rows} == {"libplugin.so"}


def test_launches_after_a_product_that_a_signal_handler_left_are_counted(compared, compiled):
    program = compiled("""
        #include <setjmp.h>
        void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*, const float*,
                    const int*, const float*, float*, const int*);
        enum { n = 4000 };
        static float a[n * n], b[n * n], c[n * n];
        static sigjmp_buf place;
        static void leave(int signal) { siglongjmp(place, 1); }
        static __attribute__((noinline)) void deeper(int depth, void* function) {
            volatile char room[512];
            room[0] = (char)depth;
            if (depth > 0) deeper(depth - 1, function);
            else launch(function);
            room[1] = room[0];
        }
        int main(void) {
            void *module = NULL, *function = NULL;
            const int order = n;
            const float one = 1;
            start();
            require(cuModuleLoadData(&module, ".version 7.0\\n.target sm_52\\n.visible .entry one() { ret; }\\n"));
            require(cuModuleGetFunction(&function, module, "one"));
            const struct itimerval soon = {{0, 0}, {0, 100000}};
            for (int i = 0; i < n * n; ++i) a[i] = b[i] = 1;
            signal(SIGALRM, leave);
            setitimer(ITIMER_REAL, &soon, NULL);
            if (sigsetjmp(place, 1) == 0) sgemm_("N", "N", &order, &order, &order, &one, a, &order, b, &order, &one, c, &order);
            else puts("left");
            for (int depth = 0; depth < 100; ++depth) deeper(depth, function);
            return 0;
        }""", shim.blas_library("reference"))
    plain, rows = compared([program])
    assert plain.stdout == "left\n" and counts_of(rows) == {"one": 100}


# ---- settings that come later


TWO_LAUNCHES = """
    int main(int count, char** words) {
        void *module = NULL, *function = NULL;
        static const char text[] = ".version 7.0\\n.target sm_52\\n.visible .entry one() { ret; }\\n";
        Launch* looked_up = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchKernel");
        start();
        BEFORE
        require(cuModuleLoadData(&module, text));
        require(cuModuleGetFunction(&function, module, "one"));
        launch(function);
        BETWEEN
        require(looked_up(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        launch(function);
        return 0;
    }"""


def test_functions_that_were_looked_up_before_kernels_were_asked_for_are_a_doubt(tmp_path, compiled):
    log = tmp_path / "run.fp32rec"
    before = f"""
        setenv("FP32_MATMUL_LOG", "{log}", 1);
        setenv("FP32_MATMUL_KERNELS", "1", 1);
        float a[4] = {{1}}, b[4] = {{1}}, c[4];
        void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
        cblas_sgemm(101, 111, 111, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);"""  # reads the settings
    program = compiled(TWO_LAUNCHES.replace("BEFORE", before).replace("BETWEEN", ""), shim.blas_library("reference"))
    variables = shim.environment(libraries=[STAND_IN], preload=[shim.LIBRARY], blas="reference")
    done = subprocess.run([program], env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert counts_of(rows_of(log)) == {}
    result = fp32shim("verify", "--at-least", "fp32", "--format", "json", log).json
    assert result["verdict"] == "inconclusive" and "dlsym-past" in [bypass["bypass"] for bypass in result["bypasses"]]


@pytest.mark.parametrize("first, second, counts", [("true", "false", {"one": 1}), ("false", "true", {"unknown": 1}), ("true", "true", {"one": 3})])
def test_a_reload_that_begins_or_ends_recording_kernels_is_a_doubt(tmp_path, compiled, first, second, counts):
    policy = tmp_path / "policy.toml"
    text = f'schema = 1\n[log]\npath = "{tmp_path / "run.fp32rec"}"\nkernels = {first}\n'
    policy.write_text(text)
    change = f"""
        FILE* file = fopen("{policy}", "w");
        fputs({json.dumps(text.replace(f"kernels = {first}", f"kernels = {second}"))}, file);
        fclose(file);
        printf("%d\\n", ((int (*)(void))dlsym(RTLD_DEFAULT, "fp32shim_reload_policy"))());"""
    program = compiled(TWO_LAUNCHES.replace("BEFORE", "").replace("BETWEEN", change))
    variables = shim.environment(libraries=[STAND_IN], preload=[shim.LIBRARY], policy=policy)
    done = subprocess.run([program], env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
    log = tmp_path / "run.fp32rec"
    result = fp32shim("verify", "--at-least", "fp32", "--format", "json", log).json
    assert counts_of(rows_of(log)) == counts
    assert (result["verdict"] == "shown") == (first == second), result


@pytest.mark.parametrize("new_log", ["run", "other"])
def test_a_graph_that_was_made_under_another_recording_is_a_doubt(tmp_path, compiled, new_log):
    policy = tmp_path / "policy.toml"
    text = f'schema = 1\n[log]\npath = "{tmp_path / "run.fp32rec"}"\nkernels = true\n'
    policy.write_text(text)
    program = compiled(f"""
        Result cuGraphCreate(void**, unsigned), cuGraphInstantiateWithFlags(void**, void*, unsigned long long);
        Result cuGraphAddKernelNode_v2(void**, void*, void*, size_t, void*), cuGraphLaunch(void*, void*);
        int main(void) {{
            struct {{ void* function; unsigned sizes[7]; void* rest[4]; }} kernel = {{NULL, {{1, 1, 1, 1, 1, 1, 0}}}};
            void *module = NULL, *graph = NULL, *node = NULL, *ready = NULL;
            start();
            require(cuModuleLoadData(&module, ".version 7.0\\n.target sm_52\\n.visible .entry one() {{ ret; }}\\n"));
            require(cuModuleGetFunction(&kernel.function, module, "one"));
            require(cuGraphCreate(&graph, 0));
            require(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
            require(cuGraphInstantiateWithFlags(&ready, graph, 0));
            require(cuGraphLaunch(ready, NULL));
            FILE* file = fopen("{policy}", "w");
            fputs({json.dumps(text.replace("run.fp32rec", f"{new_log}.fp32rec"))}, file);
            fclose(file);
            require(((int (*)(void))dlsym(RTLD_DEFAULT, "fp32shim_reload_policy"))());
            require(cuGraphLaunch(ready, NULL));
            return 0;
        }}""")
    variables = shim.environment(libraries=[STAND_IN], preload=[shim.LIBRARY], policy=policy)
    assert subprocess.run([program], env=variables, capture_output=True, check=False).returncode == 0
    first = rows_of(tmp_path / "run.fp32rec")
    assert counts_of(first) == {"one": 1, REPLAY: 2 if new_log == "run" else 1}
    verdict = fp32shim("verify", "--at-least", "fp32", "--format", "json", tmp_path / f"{new_log}.fp32rec").json
    missed = [doubt["reason"] for doubt in verdict["doubts"] if "may not be recorded" in doubt["reason"]]
    assert bool(missed) == (new_log == "other"), verdict


def test_more_handles_than_there_is_room_for_are_a_doubt(tmp_path, compiled):
    driver = TINY_DRIVER.replace("*result = functions + 16 * (name[0] & 3);", "static char* next = (char*)4096; *result = next += 16;")
    program = compiled("""
        int main(int count, char** words) {
            void *module = NULL, *function = NULL;
            start();
            require(cuModuleLoadData(&module, ".version 7.0\\n.target sm_52\\n.visible .entry a() { ret; }\\n"));
            for (long i = atol(words[1]); i > 0; --i) require(cuModuleGetFunction(&function, module, "a"));
            launch(function);
            return 0;
        }""", driver=driver)
    for handles, verdict in ((50_000, "shown"), (200_000, "inconclusive")):
        log = tmp_path / f"{handles}.fp32rec"
        done = run([program, handles], tmp_path, log, LD_LIBRARY_PATH=str(tmp_path / "driver"))
        result = fp32shim("verify", "--at-least", "fp32", "--format", "json", log).json
        assert (done.status, result["verdict"], result["kernel_launches"]) == (0, verdict, 1)
        assert (verdict == "shown") == (counts_of(rows_of(log)) == {"a": 1})
        assert (verdict == "shown") == (not any("some kernels" in doubt["reason"] for doubt in result["doubts"]))


@pytest.mark.parametrize("options, asked", [([], False), (["--pin"], True), (["--where", "native"], True)], ids=str)
def test_run_asks_for_kernels_where_a_verdict_or_lines_are_wanted(tmp_path, files, options, asked):
    log = tmp_path / "run.fp32rec"
    for value in (None, "0", "1"):
        log.unlink(missing_ok=True)
        done = fp32shim("run", "--quiet", *options, "--log", log, "--", CLIENTS / "kernels", f"load:{files['ptx']}", "get:one", "launch:2", "gemm:1",
                        env={"LD_LIBRARY_PATH": STAND_IN, **({"FP32_MATMUL_KERNELS": value} if value else {})})
        assert (done.returncode, done.stderr) == (0, "")
        assert counts_of(rows_of(log)) == ({"one": 2} if (value == "1" if value else asked) else {})


def test_a_process_that_launches_kernels_can_be_watched(tmp_path, compiled):
    program = compiled("""
        int main(void) {
            void *module = NULL, *function = NULL;
            start();
            require(cuModuleLoadData(&module, ".version 7.0\\n.target sm_52\\n.visible .entry _Z7my_gemmIfEvPT_() { ret; }\\n"));
            require(cuModuleGetFunction(&function, module, "_Z7my_gemmIfEvPT_"));
            for (int i = 0; i < 3; ++i) launch(function);
            puts("launched");
            fflush(stdout);
            getchar();
            return 0;
        }""")
    running = subprocess.Popen([program], env=environment(tmp_path / "launches", tmp_path / "run.fp32rec"), text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    assert running.stdout.readline() == "launched\n"
    for words in (["ps"], ["ps", running.pid], ["top", "--count", "1", "--interval", "0.1"], ["top", running.pid, "--count", "1", "--interval", "0.1"]):
        done = fp32shim(*words)
        assert (done.returncode, done.stderr) == (0, "")
        assert running.pid not in words or ("my_gemm<float>" in done.stdout and "_Z7" not in done.stdout), done.stdout
    result = fp32shim("verify", "--at-least", "fp32", "--format", "json", tmp_path / "run.fp32rec").json
    assert (result["verdict"], result["calls_shown"]) == ("inconclusive", 3)
    running.communicate(timeout=600)


@pytest.mark.parametrize("opens, doubt", [('dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW)', "dlsym-past"), ('dlopen("libcuda.so.1", RTLD_NOW)', None),
                                          ('dlopen("libcublas.so.13", RTLD_NOW)', None), ("RTLD_DEFAULT", None), ("RTLD_NEXT", None)])
def test_functions_are_seen_or_a_doubt_wherever_a_program_looks_them_up(tmp_path, compiled, opens, doubt):
    program = compiled("""
        int main(int count, char** words) {
            void *context = NULL, *module = NULL, *function = NULL, *driver = OPENS;
            if (driver == NULL && strcmp(words[1], "RTLD_DEFAULT") != 0) return 2;
            Result (*init)(unsigned) = dlsym(driver, "cuInit"), (*retain)(void**, int) = dlsym(driver, "cuDevicePrimaryCtxRetain");
            Result (*set)(void*) = dlsym(driver, "cuCtxSetCurrent"), (*load)(void**, const void*) = dlsym(driver, "cuModuleLoadData");
            Result (*get)(void**, void*, const char*) = dlsym(driver, "cuModuleGetFunction");
            Launch* launch_it = dlsym(driver, "cuLaunchKernel");
            require(init(0));
            require(retain(&context, 0));
            require(set(context));
            require(load(&module, ".version 7.0\\n.target sm_52\\n.visible .entry a() { ret; }\\n"));
            require(get(&function, module, "a"));
            require(launch_it(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
            return 0;
        }""".replace("OPENS", opens), "-Wl,--no-as-needed", linked=opens.startswith("RTLD"))
    log = tmp_path / "run.fp32rec"
    done = run([program, opens], tmp_path, log)
    assert (done.status, done.stderr, done.launches) == (0, "", {"a": (1, 0)})
    result = fp32shim("verify", "--at-least", "fp32", "--format", "json", log).json
    names = [bypass["bypass"] for bypass in result["bypasses"]]
    assert counts_of(rows_of(log)) == ({} if doubt else {"a": 1}) and names == ([doubt] if doubt else []), result


@pytest.mark.parametrize("is_first", [True, False], ids=["before the shim", "after the shim"])
@pytest.mark.parametrize("client, way", WAYS)
def test_another_preloaded_library_that_wraps_launches_still_sees_them(tmp_path, files, client, way, is_first):
    wrapper = build(tmp_path / "wrapper.so", DRIVER_API + """
        static long seen;
        Result cuLaunchKernel(void* f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned h, void* i, void** j,
                              void** k) {
            ++seen;
            return ((Launch*)dlsym(RTLD_NEXT, "cuLaunchKernel"))(f, a, b, c, d, e, g, h, i, j, k);
        }
        __attribute__((destructor)) static void report(void) { printf("wrapper saw %ld\\n", seen); }""", "-shared", "-fPIC", "-ldl")
    words = [CLIENTS / client, "--by", way, f"load:{files['ptx']}", "get:one", "launch:5"]
    plain = run(words, tmp_path, LD_PRELOAD=str(wrapper))
    assert (plain.status, plain.launches) == (0, {"one": (5, 0)}) and "wrapper saw" in plain.stdout
    log = tmp_path / "run.fp32rec"
    chain = [wrapper, shim.LIBRARY] if is_first else [shim.LIBRARY, wrapper]
    assert run(words, tmp_path, log, LD_PRELOAD=":".join(map(str, chain))) == plain
    assert counts_of(rows_of(log))["one"] >= 5

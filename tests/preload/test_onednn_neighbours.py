"""Programs that have a oneDNN whose executions are recorded: they behave as without the shim, and `verify` never takes for
recorded what it did not see. The library is a stand-in that asks, prints and multiplies nothing."""

import pytest

from command import COMMAND, build, environment, fp32shim
import subprocess

ONEDNN = """
    #include <stdio.h>
    #include <stdlib.h>
    static int level = -1;
    int asks(void) { return getenv(VARIABLE) != NULL; }
    void say(void) { printf("%d said\\n", asks() > 9); }
    int dnnl_set_verbose(int value) { level = value; return 0; }
    void EXECUTE(int is_lower) {
        if (level < 0) {
            const char* value = getenv(VARIABLE);
            level = value == NULL ? 0 : atoi(value);
            if (level > 0) printf(LINE ",info,oneDNN v2.7.0 (commit 0)\\n");
        }
        if (level == 0) return;
        printf(LINE ",exec,cpu,matmul,%s,undef,src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,%s,,"
               "4x4:4x4:4x4,%g\\n", is_lower ? "brgemm:avx512_core_amx_bf16" : "gemm:jit", is_lower ? "attr-fpmath:bf16" : "", .5);
        fflush(stdout);
    }
"""
LOADER = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    typedef int function(int);
    int (*past)(void*);
    static void* run(void* execute) { ((function*)execute)(0); return NULL; }
    int main(int count, char** words) {
        void* library = dlopen(words[1], RTLD_NOW);
        function* execute = (function*)dlsym(library, "execute");
"""


def library(path, *words, variable="ONEDNN_VERBOSE", line="onednn_verbose", execute="execute", source=ONEDNN):
    return build(path, source, "-O1", "-shared", "-fPIC", f'-DVARIABLE="{variable}"', f'-DLINE="{line}"', f"-DEXECUTE={execute}", *words)


def program(path, body, *words):
    return build(path, LOADER + body + " return 0; }", "-O1", *words)


def run(log, *words, **settings):
    command = [] if log is None else [COMMAND, "run", "--quiet", "--pin", "--log", log, "--"]
    return subprocess.run([*command, *words], capture_output=True, text=True, check=False, env=environment(**settings))


def verdict(log):
    return fp32shim("verify", "--at-least", "fp32", log).stdout


def test_a_oneDNN_that_was_unloaded_is_not_looked_into(tmp_path):
    for name in ("a", "b"):
        library(tmp_path / name)
    both = program(tmp_path / "program", """
        execute(0);
        void* other = dlopen(words[2], RTLD_NOW);
        function* also = (function*)dlsym(other, "execute");
        also(0);
        ((int (*)(void*))dlsym(dlopen("libc.so.6", RTLD_NOW), "dlclose"))(library);
        also(0);
    """)
    assert run(tmp_path / "run.fp32rec", both, tmp_path / "a", tmp_path / "b").returncode == 0


def test_a_product_is_seen_though_other_code_asked_first(tmp_path):
    asking = program(tmp_path / "program", '((function*)dlsym(library, "asks"))(0); execute(1);')
    assert run(tmp_path / "run.fp32rec", asking, library(tmp_path / "library")).stdout == ""
    assert "1 call of onednn_matmul 4x4x4" in verdict(tmp_path / "run.fp32rec")


@pytest.mark.parametrize("value", [None, "1", "0"])
def test_a_program_finds_the_variable_as_it_is(value, tmp_path):
    asking = program(tmp_path / "program", 'puts(getenv("ONEDNN_VERBOSE") ? getenv("ONEDNN_VERBOSE") : "not set");')
    settings = {} if value is None else {"ONEDNN_VERBOSE": value}
    assert run(tmp_path / "run.fp32rec", asking, library(tmp_path / "library"), **settings).stdout == f"{value or 'not set'}\n"


def test_the_variable_of_MKL_DNN_counts(tmp_path):
    old = library(tmp_path / "libmkldnn.so.0", variable="MKLDNN_VERBOSE", line="mkldnn_verbose")
    assert run(tmp_path / "run.fp32rec", program(tmp_path / "program", "execute(1);"), old).stdout == ""
    assert "1 call of onednn_matmul 4x4x4" in verdict(tmp_path / "run.fp32rec")


def test_a_later_oneDNN_finds_that_variable_as_it_is_which_torch_copies_into_the_environment(tmp_path):
    copying = library(tmp_path / "library", source=ONEDNN + 'void copies(void) { puts(getenv("MKLDNN_VERBOSE") ? "set" : "not set"); }')
    words = [program(tmp_path / "program", '((function*)dlsym(library, "copies"))(0); execute(1);'), copying]
    assert run(tmp_path / "run.fp32rec", *words).stdout == "not set\n"
    assert "1 call of onednn_matmul 4x4x4" in verdict(tmp_path / "run.fp32rec")


def test_a_printf_of_another_preloaded_library_stays_in_force(tmp_path):
    other = build(tmp_path / "other.so", """
        #include <stdio.h>
        int printf(const char* format, ...) { return fputs("other\\n", stdout); }
    """, "-shared", "-fPIC", "-fno-builtin")
    saying = program(tmp_path / "program", 'execute(0); ((function*)dlsym(library, "say"))(0);')
    words = [saying, library(tmp_path / "library", "-U_FORTIFY_SOURCE")]
    plain = run(None, *words, LD_PRELOAD=other)
    assert plain.stdout == "other\n"
    assert run(tmp_path / "run.fp32rec", *words, LD_PRELOAD=other).stdout == plain.stdout
    assert "some of its executions may not be recorded" in verdict(tmp_path / "run.fp32rec")


def test_torch_turns_off_the_verbose_mode_of_a_shared_oneDNN(tmp_path):
    name = "_ZN5torch7verbose19_mkldnn_set_verboseEi"
    shared = library(tmp_path / "libdnnl.so", "-Wl,-soname,libdnnl.so")
    torch = build(tmp_path / "libtorch.so", f"""
        int dnnl_set_verbose(int);
        const char* text = "mkldnn_verbose";
        int {name}(int level) {{ return dnnl_set_verbose(level); }}
    """, "-shared", "-fPIC", "-x", "none", shared)
    switching = build(tmp_path / "program", f"""
        int {name}(int);
        void execute(int);
        int main(void) {{ execute(0); {name}(1); execute(0); {name}(0); execute(0); return 0; }}
    """, "-x", "none", torch, shared, f"-Wl,-rpath,{tmp_path}")
    plain, shimmed = run(None, switching), run(tmp_path / "run.fp32rec", switching)
    assert shimmed.stdout.splitlines()[1:] == plain.stdout.splitlines()  # the head comes before the first line
    assert shimmed.stdout.startswith("onednn_verbose,info,")


def test_nothing_counts_as_told_if_the_switch_is_looked_up_in_the_library(tmp_path):
    silencing = program(tmp_path / "program", 'execute(0); ((function*)dlsym(library, "dnnl_set_verbose"))(0); execute(1);')
    run(tmp_path / "run.fp32rec", silencing, library(tmp_path / "library"))
    assert verdict(tmp_path / "run.fp32rec").startswith("Inconclusive")


def test_nothing_counts_as_told_if_oneDNN_may_write_to_a_file(tmp_path):
    words = [program(tmp_path / "program", "execute(0);"), library(tmp_path / "library")]
    assert run(tmp_path / "run.fp32rec", *words, ONEDNN_VERBOSE_LOGFILE=tmp_path / "log").stdout == ""
    assert verdict(tmp_path / "run.fp32rec").startswith("Inconclusive")


def test_a_product_is_recorded_in_a_thread_with_the_smallest_stack(tmp_path):
    threaded = program(tmp_path / "program", """
        pthread_attr_t small;
        pthread_t id;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
        pthread_create(&id, &small, run, (void*)execute);
        pthread_join(id, NULL);
    """, "-include", "limits.h", "-pthread")
    done = run(tmp_path / "run.fp32rec", threaded, library(tmp_path / "library"), FP32_MATMUL_WHERE="auto")
    assert done.returncode == 0
    assert verdict(tmp_path / "run.fp32rec").startswith("Shown")

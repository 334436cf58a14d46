"""What the library looks like from outside: the names that it exports, the libraries that it needs, its footprint."""

import pathlib
import re
import subprocess

from shim import HERE, LIBRARY, LOADER_HOOKS, MODE_HOOKS, RANGE_HOOKS, STARTER_HOOKS, need, tool

C_API = {
    "fp32shim_abi_version", "fp32shim_get_floor", "fp32shim_get_precision", "fp32shim_last_product", "fp32shim_pop_scope",
    "fp32shim_push_scope", "fp32shim_reload_policy", "fp32shim_set_floor", "fp32shim_set_precision",
    "fp32shim_scope_depth", "fp32shim_status_string", "fp32shim_version",
}
# Functions of the CUDA driver, by which programs load, find and launch kernels.
DRIVER = {
    "cuGetProcAddress", "cuGetProcAddress_v2", "cuGraphAddKernelNode", "cuGraphAddKernelNode_v2", "cuGraphAddNode",
    "cuGraphAddNode_v2", "cuGraphExecKernelNodeSetParams", "cuGraphExecKernelNodeSetParams_v2",
    "cuGraphExecNodeSetParams", "cuGraphKernelNodeSetParams", "cuGraphKernelNodeSetParams_v2", "cuGraphLaunch",
    "cuGraphLaunch_ptsz", "cuGraphNodeSetParams", "cuKernelGetFunction", "cuLaunch", "cuLaunchCooperativeKernel",
    "cuLaunchCooperativeKernelMultiDevice", "cuLaunchCooperativeKernel_ptsz", "cuLaunchGrid", "cuLaunchGridAsync",
    "cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchKernelEx_ptsz", "cuLaunchKernel_ptsz", "cuLibraryEnumerateKernels",
    "cuLibraryGetKernel", "cuLibraryGetModule", "cuLibraryLoadData", "cuLibraryLoadFromFile", "cuLibraryUnload",
    "cuModuleEnumerateFunctions", "cuModuleGetFunction", "cuModuleLoad", "cuModuleLoadData", "cuModuleLoadDataEx",
    "cuModuleLoadFatBinary", "cuModuleUnload",
}
# Objects of glibc on any architecture.
GLIBC = re.compile(r"(libc|libm|libdl|libpthread|librt)\.so\.\d+|ld-linux[a-z0-9-]*\.so\.\d+")


def output_of(*words):
    need(LIBRARY.exists(), f"{LIBRARY} was not built")
    return subprocess.run([tool(words[0], "binutils"), *map(str, words[1:]), LIBRARY], check=True,
                          capture_output=True, text=True).stdout


def exported():
    return {line.split()[-1] for line in output_of("nm", "-D", "--defined-only").splitlines()}


def expected():
    return set(pathlib.Path(HERE, "expected_blas_symbols.txt").read_text().split())


def test_every_function_of_the_table_is_exported_and_nothing_else():
    names = exported()
    cublas = {name for name in names if name.startswith("cublas")}  # another test compares these names with a list of their own
    assert expected() - names == set(), "missing"
    assert names - expected() - cublas - C_API - DRIVER - LOADER_HOOKS - MODE_HOOKS - RANGE_HOOKS - STARTER_HOOKS == set(), "not in the table"
    assert (C_API | DRIVER | LOADER_HOOKS | MODE_HOOKS | RANGE_HOOKS | STARTER_HOOKS) - names == set(), "missing"


def test_exported_names_have_no_version():
    assert not [name for name in exported() if "@" in name]


def test_the_c_api_that_the_header_declares_is_the_one_that_is_exported():
    header = (HERE.parents[1] / "shim/include/fp32shim/fp32shim.h").read_text()
    declared = set(re.findall(r"FP32SHIM_API [a-z *]+\*?(fp32shim_\w+)\(", header))
    assert declared == C_API == {name for name in exported() if name.startswith("fp32shim_")}


def test_only_glibcs_own_objects_are_needed():
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-dW"))
    assert needed and all(GLIBC.fullmatch(name) for name in needed), needed


def test_there_is_no_search_path_and_no_executable_stack():
    dynamic = output_of("readelf", "-dW")
    assert "RPATH" not in dynamic and "RUNPATH" not in dynamic and "TEXTREL" not in dynamic
    (stack,) = re.findall(r"GNU_STACK.*", output_of("readelf", "-lW"))
    assert "E" not in stack.split()[-2], stack


def test_thread_local_storage_takes_at_most_64_bytes():
    tls = re.findall(r"^\s*TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+(\S+)", output_of("readelf", "-lW"), re.MULTILINE)
    assert len(tls) <= 1
    assert not tls or int(tls[0], 16) <= 64


def test_nothing_unexpected_runs_at_start_or_exit():
    """The library has no constructor, because BLAS may be called before it. Its one destructor
    (shim/loader/loaded_files.cpp) leaves everything usable, because BLAS may be called after it."""
    # __do_global_dtors_aux of the C runtime; from gcc 13 on, also libgcc's release_registered_frames.
    known = 1 + ("release_registered_frames" in output_of("nm"))
    sizes = dict(re.findall(r"\((INIT_ARRAYSZ|FINI_ARRAYSZ)\)\s+(\d+)", output_of("readelf", "-dW")))
    assert int(sizes.get("FINI_ARRAYSZ", 0)) <= 8 * (known + 1), sizes


def test_the_loader_calls_the_shim_after_all_other_relocations():
    """The code that the loader calls uses addresses that the other relocations store. The loader treats adjoining tables of
    relocations as one table, and makes such calls after the rest of it."""
    tables = output_of("readelf", "-rW").split("Relocation section ")[1:]
    assert sum(table.count("IRELATIV") for table in tables) == 1
    places = [re.search(r"at offset (0x[0-9a-f]+) contains (\d+) entr", table).groups() for table in tables]
    places = [(int(offset, 16), int(entries)) for offset, entries in places]
    assert [offset + 24 * entries for offset, entries in places[:-1]] == [offset for offset, _ in places[1:]]


def test_the_symbol_table_is_not_on_a_page_with_code():
    """The shim changes its own copy of the table, and a page with code could not be made writable."""
    headers = output_of("readelf", "-lW")
    segments = re.findall(r"^\s+LOAD\s+\S+\s+(\S+)\s+\S+\s+\S+\s+(\S+)\s+(.{3})\s", headers, flags=re.MULTILINE)
    (table,) = re.findall(r"\(SYMTAB\)\s+(\S+)", output_of("readelf", "-dW"))
    holding = [flags for begin, size, flags in segments if 0 <= int(table, 16) - int(begin, 16) < int(size, 16)]
    assert holding == ["R  "]

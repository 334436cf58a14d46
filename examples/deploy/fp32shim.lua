-- Lmod: module load fp32shim, module unload fp32shim
prepend_path("LD_PRELOAD", "/usr/local/lib/libfp32shim.so")
prepend_path("PATH", "/usr/local/bin")

// A library with nothing to look up: copies of it make a process of many objects.
int fp32shim_bench_object;

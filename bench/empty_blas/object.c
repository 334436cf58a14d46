// An empty library. Copies of it make a process with many loaded objects.
int fp32shim_bench_object;

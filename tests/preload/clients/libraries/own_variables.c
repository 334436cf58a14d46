// Variables under names of BLAS: one as C writes them, and one as Fortran calls a common block. Compiled with
// FUNCTION, the library has a function under the first name instead.
#ifdef FUNCTION
double ddot(double value) { return 5 * value; }
#else
double ddot = VALUE;
double dnrm2_ = 10 * VALUE;
double sum_of_variables(void) { return ddot + dnrm2_; }
#endif

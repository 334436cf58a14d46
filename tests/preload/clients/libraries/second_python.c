/* Functions of a second Python, of another version than the one in the process. The shim must not ask them about
 * the first. */
int Py_IsFinalizing(void) { return 1; }
int _Py_IsFinalizing(void) { return 1; }
const char* Py_GetVersion(void) { return "3.99.0 (main, Jan  1 2040)"; }
void* PyGILState_GetThisThreadState(void) { return 0; }
long PyCode_Type[64], PyUnicode_Type[64], PyBytes_Type[64];

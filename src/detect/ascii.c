#include "detect/ascii.h"

_Thread_local struct weir_ascii_edge weir_ascii_edge;

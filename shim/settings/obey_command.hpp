// The commands of `fp32shim set` and `reload`, which reach this process through its recording.
#pragma once

#include "shim/settings/settings.hpp"

namespace fp32shim {

void obey_command(record::Recording& recording);

/// Obeys a waiting command, if there is one. To be called before a call's settings are read.
inline void obey_waiting_command() {
    record::Recording* recording = settings().recording;
    if (recording != nullptr && recording->has_command()) obey_command(*recording);
}

}  // namespace fp32shim

// The egress process of one sandbox: settings in, lock down, serve until told to finish.
#pragma once

namespace paddock::egress {

// On the descriptors of settings.h. Returns the exit status of the process.
int serve();

}  // namespace paddock::egress

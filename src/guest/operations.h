// The operations of docs/formats/guest.md, each in the file that its subject has.
#pragma once

#include "guest/guest.h"

namespace paddock::guest {

// Each operation takes the guest and its call, and returns the result that ends the channel.
using Answer = io::Task<Result<Value>>;
using CallPointer = std::shared_ptr<Call>;

// process_operations.cc
Answer start_process(Guest& guest, CallPointer call);
Answer attach_process(Guest& guest, CallPointer call);
Answer list_processes(Guest& guest, CallPointer call);
Answer send_input(Guest& guest, CallPointer call);
Answer close_stdin(Guest& guest, CallPointer call);
Answer signal_process(Guest& guest, CallPointer call);
Answer resize_process(Guest& guest, CallPointer call);
Answer signal_all(Guest& guest, CallPointer call);
// Stops all processes but the guest, or lets them continue.
void signal_everyone(bool stop);

// files.cc
Answer stat_file(Guest& guest, CallPointer call);
Answer make_directory(Guest& guest, CallPointer call);
Answer remove_file(Guest& guest, CallPointer call);
Answer move_file(Guest& guest, CallPointer call);

// list.cc
Answer list_directory_entries(Guest& guest, CallPointer call);

// transfer.cc
Answer read_file_bytes(Guest& guest, CallPointer call);
Answer write_file_bytes(Guest& guest, CallPointer call);
Answer compose_file(Guest& guest, CallPointer call);

// tar.cc
Answer pack_files(Guest& guest, CallPointer call);
Answer unpack_files(Guest& guest, CallPointer call);

// watch.cc
Answer watch_directory(Guest& guest, CallPointer call);

// connect.cc
Answer connect_port(Guest& guest, CallPointer call);

// guest.cc
Answer describe_user(Guest& guest, CallPointer call);
Answer change_settings(Guest& guest, CallPointer call);
Answer measure(Guest& guest, CallPointer call);

}  // namespace paddock::guest

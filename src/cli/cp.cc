// paddock cp: files and directories into a sandbox and out of it.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/living.h"
#include "cli/options.h"
#include "cli/transfer.h"

namespace paddock::cli {

namespace {

bool is_directory(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// A link to a directory counts as one, as with cp.
bool is_remote_directory(const Value& entry) {
  return text_in(entry, "type") == "directory" || text_in(entry, "target_type") == "directory";
}

// The target is settled first: whether it exists decides what its name means.
Result<Transferred> copy_in(const Transfer& transfer, const std::string& from,
                            const std::string& to) {
  if (from == "-") return upload_input(transfer, STDIN_FILENO, to);
  if (::access(from.c_str(), R_OK) != 0)
    return errno_error(errno, cat("read '", printable(from), "'"));
  Value there = TRY(remote_entry(transfer, to));
  std::string target = TRY(copy_target(from, to, is_remote_directory(there)));
  if (is_directory(from)) {
    if (!there.is_null() && !is_remote_directory(there))
      return Error{Code::conflict, cat("'", printable(to), "' inside is a file, not a directory"),
                   ""};
    return upload_directory(transfer, from, target);
  }
  return upload_file(transfer, from, target);
}

// Nothing is written before it is known what is there inside.
Result<Transferred> copy_out(const Transfer& transfer, const std::string& from,
                             const std::string& to) {
  Value entry = TRY(remote_entry(transfer, from));
  if (entry.is_null())
    return Error{Code::not_found, cat("'", printable(from), "' is not there inside"), ""};
  if (to == "-") {
    if (is_remote_directory(entry))
      return Error{Code::invalid, cat("'", printable(from), "' is a directory"),
                   "give a directory to copy it to"};
    return download_output(transfer, from, STDOUT_FILENO);
  }
  std::string target = TRY(copy_target(from, to, is_directory(to)));
  if (is_remote_directory(entry)) return download_directory(transfer, from, target);
  if (is_directory(target))
    return Error{Code::conflict, cat("'", printable(target), "' is a directory"), ""};
  return download_file(transfer, from, entry, target);
}

struct Flags {
  std::string from, to, user;
  bool quiet = false;
};

Result<Transferred> copy(const Flags& flags, bool shows_progress) {
  CopyPaths paths = TRY(parse_copy(flags.from, flags.to));
  Client client = TRY(Client::find());
  Transfer transfer{client, paths.id, flags.user, shows_progress};
  return paths.into_sandbox ? copy_in(transfer, paths.from, paths.to)
                            : copy_out(transfer, paths.from, paths.to);
}

}  // namespace

int cp_main(int argc, char** argv) {
  Flags flags;
  Options options("cp",
                  "Copies a file or a directory into a sandbox or out of it. One side is ID:PATH.");
  options.text("-u, --user", "USER", &flags.user, "whose the files are inside");
  options.flag("-q, --quiet", &flags.quiet, "no progress");
  options.positional("FROM", &flags.from, "a path here, or ID:PATH; - is stdin");
  options.positional("TO", &flags.to, "ID:PATH, or a path here; - is stdout");
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    (void)::signal(SIGPIPE, SIG_IGN);  // an unpacker that gave up is an error with a reason
    Transferred done = TRY(copy(flags, !json && !flags.quiet));
    if (json)
      (flags.to == "-" ? print_error : print)(to_json(Value::Object{{"bytes", done.bytes}}) + "\n");
    return 0;
  });
}

}  // namespace paddock::cli

// paddock audit: what was recorded, and whether it is still what was recorded.
#include "cli/audit.h"

#include <unistd.h>

#include <cstring>

#include "audit/index.h"
#include "audit/seal.h"
#include "audit/verify.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "base/value.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "record/log_location.h"
#include "store/state.h"

namespace paddock::cli {

namespace {

constexpr char kWhere[] = "the log's directory (default: in the state directory)";

// A line that is written over again and again, on a terminal only.
class Progress {
 public:
  void show(uint64_t done, uint64_t bytes) {
    if (!terminal_ || done - last_ < 8 << 20) return;
    last_ = done;
    print_error(cat("\r", human_size(done), " of ", human_size(bytes), " … "));
    shown_ = true;
  }
  ~Progress() {
    if (shown_) print_error("\r\x1b[K");
  }

 private:
  bool terminal_ = ::isatty(STDERR_FILENO), shown_ = false;
  uint64_t last_ = 0;
};

Result<audit::Verified> verified(const std::string& directory, const std::string& key_file,
                                 const std::string& expect) {
  audit::VerifyOptions options{.directory = TRY(audit_directory(directory)), .expect = expect};
  if (!key_file.empty()) options.public_key = TRY(read_file(key_file, 1 << 16));
  Progress progress;
  options.progress = [&](uint64_t done, uint64_t bytes) { progress.show(done, bytes); };
  return audit::verify(options);
}

std::string counted(uint64_t count, const char* thing) {
  return cat(count, " ", thing, count == 1 ? "" : "s");
}

void print_verified(const audit::Verified& log) {
  Colours colour = colours();
  std::string text;
  if (log.damage) {
    const audit::Damage& damage = *log.damage;
    text += cat(colour.red, "damaged", colour.off, " at record ", damage.seq);
    if (!damage.segment.empty())
      text +=
          cat(" (", printable(damage.segment), damage.line ? cat(", line ", damage.line) : "", ")");
    text += cat(": ", damage.what, "\n  ", printable(damage.why), "\n");
    if (log.records > 0)
      text += cat("  good before it: ", counted(log.records, "record"), ", ", log.first, " to ",
                  log.last, "\n");
  } else if (log.records == 0) {
    text += "there are no records yet\n";
  } else {
    text += cat(colour.green, "whole", colour.off, ": ", counted(log.records, "record"), " (",
                log.first, " to ", log.last, ") in ", counted(log.segments, "segment"), ", ",
                log.sealed, " sealed\n");
    if (log.vouched > 0) text += cat("  signed up to record ", log.vouched, "\n");
  }
  for (const std::string& note : log.notes) text += cat("  note: ", printable(note), "\n");
  if (!log.damage && log.records > 0)
    text += cat("last: ", log.last, ":", log.last_hash, "\n", colour.dim,
                "  note it elsewhere: with --expect ", log.last,
                ":… nobody can take anything off the end unseen", colour.off, "\n");
  print(text);
}

int verify_log(int argc, char** argv) {
  bool json = false;
  std::string directory, key, expect;
  Options options("audit verify",
                  "Checks that the audit log is what was written. Exit status 0: whole; 1: "
                  "damaged; 125: could not look.");
  options.text("--key", "FILE.pem", &key,
               "the public key that must have signed it; without a signature of it the log is "
               "damaged (default: the log's own, which who can write the log can replace)");
  options.text("--expect", "SEQ:HASH", &expect,
               "a record that must be there, as an earlier check printed it; damaged also when it "
               "was retired since");
  options.text("--dir", "DIR", &directory, kWhere);
  options.flag("--json", &json, "print one JSON object");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<audit::Verified> log = verified(directory, key, expect);
  if (!log) return report(log.error(), json);
  if (json)
    print(to_json(audit::to_value(log.value())) + "\n");
  else
    print_verified(log.value());
  return log.value().damage ? 1 : 0;
}

// What the rest have in common: nothing but a directory and --json.
struct Simple {
  const char *name, *what;
  Result<Value> (*work)(const std::string& directory);
  const char* key;  // of the answer, which is shown alone to people; null: nothing is
};

Result<Value> key_of(const std::string& directory) {
  return Value(TRY(audit::public_key(directory)));
}
Result<Value> path_of(const std::string& directory) { return Value(directory); }
Result<Value> rebuilt(const std::string& directory) {
  return Value(TRY(audit::Index::rebuild(directory)));
}
constexpr Simple kSimple[] = {
    {"key", "Prints the public key that the log's seals are checked with. Keep it elsewhere.",
     key_of, "public_key"},
    {"path", "Prints where the log is.", path_of, "path"},
    {"rebuild", "Makes the index anew from the log.", rebuilt, "records"},
};

struct SealFlags {
  std::string directory, rotate, max_size, keep;
};

Result<bool> seal(const SealFlags& flags) {
  audit::LogOptions options{.directory = TRY(audit_directory(flags.directory))};
  if (!flags.rotate.empty()) options.rotate_bytes = TRY(parse_size(flags.rotate));
  if (!flags.max_size.empty()) options.most_bytes = TRY(parse_size(flags.max_size));
  if (!flags.keep.empty()) options.keep_ms = TRY(parse_age(flags.keep));
  audit::Log log = TRY(audit::Log::open(options));
  if (!flags.rotate.empty() && !log.is_full()) return false;  // somebody was faster
  TRY(audit::seal_and_rotate(log));
  return true;
}

int seal_log(int argc, char** argv) {
  bool json = false;
  SealFlags flags;
  Options options("audit seal", "Signs what there is and begins a new segment.");
  options.text("--dir", "DIR", &flags.directory, kWhere);
  options.text("--rotate", "SIZE", &flags.rotate,
               "only when the segment is full: larger than this, or old");
  options.text("--max-size", "SIZE", &flags.max_size,
               "and remove the oldest when all are larger than this (default 4G)");
  options.text("--keep", "AGE", &flags.keep, "or those that are older");
  options.flag("--json", &json, "print one JSON object");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<bool> sealed = seal(flags);
  if (!sealed) return report(sealed.error(), json);
  Value value;
  value.set("sealed", sealed.value());
  if (json) print(to_json(value) + "\n");
  return 0;
}

int run_simple(const Simple& simple, int argc, char** argv) {
  bool json = false;
  std::string directory;
  Options options(cat("audit ", simple.name), simple.what);
  options.text("--dir", "DIR", &directory, kWhere);
  options.flag("--json", &json, "print one JSON object");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<std::string> place = audit_directory(directory);
  Result<Value> answer = place ? simple.work(place.value()) : Result<Value>(place.error());
  if (!answer) return report(answer.error(), json);
  if (json) {
    Value value;
    value.set(simple.key, answer.value());
    print(to_json(value) + "\n");
  } else {
    std::string text = answer.value().as_string() ? *answer.value().as_string()
                                                  : to_json(answer.value()) + " records";
    print(ends_with(text, "\n") ? text : text + "\n");
  }
  return 0;
}

int usage(bool asked) {
  std::string text =
      "usage: paddock audit show [--sandbox ID] [--agent NAME] [--kind KIND] [--since 2h] …   "
      "records, by what is asked of them\n"
      "       paddock audit tail [-f] …                                                       the "
      "last ones\n"
      "       paddock audit verify [--key FILE.pem] [--expect SEQ:HASH]                       "
      "whether the log is what was written\n"
      "       paddock audit key | path | seal | rebuild                                       each "
      "with --dir DIR and --json\n";
  if (asked)
    print(text);
  else
    print_error(text);
  return asked ? 0 : kFailed;
}

}  // namespace

Result<std::string> audit_directory(const std::string& given) {
  if (!given.empty()) return given;
  return record::log_location(TRY(store::state_directory()));
}

int audit_main(int argc, char** argv) {
  std::string word = argc > 1 ? argv[1] : "";
  if (word == "show") return audit_show(argc - 1, argv + 1);
  if (word == "tail") return audit_tail(argc - 1, argv + 1);
  if (word == "verify") return verify_log(argc - 1, argv + 1);
  if (word == "seal") return seal_log(argc - 1, argv + 1);
  for (const Simple& simple : kSimple)
    if (word == simple.name) return run_simple(simple, argc - 1, argv + 1);
  return usage(word == "--help" || word == "-h");
}

}  // namespace paddock::cli

// paddock audit: what was recorded, and whether it is still what was recorded.
#include "cli/audit.h"

#include "audit/index.h"
#include "audit/seal.h"
#include "audit/verify.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "base/value.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "record/log_location.h"
#include "store/state.h"

namespace paddock::cli {

namespace {

constexpr char kWhere[] = "the log's directory (default: in the state directory)";

// Progress is only shown once there is some, so that a small log prints nothing.
Result<audit::Verified> verified(const std::string& directory, const std::string& key_file,
                                 const std::string& expect) {
  audit::VerifyOptions options{.directory = TRY(audit_directory(directory)), .expect = expect};
  if (!key_file.empty()) options.public_key = TRY(read_file(key_file, 1 << 16));
  std::optional<Progress> progress;
  options.progress = [&](uint64_t done, uint64_t bytes) {
    if (!progress) progress.emplace("checking", bytes, true);
    progress->add(done - progress->done());
  };
  return audit::verify(options);
}

// For people: "1 record", "2 records".
std::string counted(uint64_t count, const char* thing) {
  return cat(count, " ", thing, count == 1 ? "" : "s");
}

// Whole or damaged, how far the signatures reach, and what to note elsewhere.
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
  std::string directory, key, expect;
  Options options("audit verify",
                  "Checks that the audit log is what was written. Exit status 0: whole; 1: "
                  "damaged; 125: could not look.");
  options.text("--key", "FILE.pem", &key,
               "the public key that must have signed it; without a signature of it the log is "
               "damaged (default: the log's own, which anybody who can write the log can replace)");
  options.text("--expect", "SEQ:HASH", &expect,
               "a record that must be there, as an earlier check printed it; damaged also when it "
               "was retired since");
  options.text("--dir", "DIR", &directory, kWhere);
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    audit::Verified log = TRY(verified(directory, key, expect));
    if (json)
      print_json(audit::to_value(log));
    else
      print_verified(log);
    return log.damage ? 1 : 0;
  });
}

// One fact about the log, or one thing done to it: the value that is shown, under a name in JSON.
using Work = Result<Value> (*)(const std::string& directory);

// All verbs without options of their own.
int run_simple(const char* verb, const char* what, const char* name, Work work, int argc,
               char** argv) {
  std::string directory;
  Options options(cat("audit ", verb), what);
  options.text("--dir", "DIR", &directory, kWhere);
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    Value answer = TRY(work(TRY(audit_directory(directory))));
    std::string text = answer.as_string() ? *answer.as_string() : to_json(answer) + " records";
    return show(json, Value::Object{{name, answer}}, ends_with(text, "\n") ? text : text + "\n");
  });
}

int print_key(int argc, char** argv) {
  auto work = [](const std::string& directory) -> Result<Value> {
    return Value(TRY(audit::public_key(directory)));
  };
  return run_simple("key",
                    "Prints the public key that the log's seals are checked with. Keep it "
                    "elsewhere.",
                    "public_key", work, argc, argv);
}

int print_path(int argc, char** argv) {
  auto work = [](const std::string& directory) -> Result<Value> { return Value(directory); };
  return run_simple("path", "Prints where the log is.", "path", work, argc, argv);
}

int rebuild_index(int argc, char** argv) {
  auto work = [](const std::string& directory) -> Result<Value> {
    return Value(TRY(audit::Index::rebuild(directory)));
  };
  return run_simple("rebuild", "Makes the index again from the log.", "records", work, argc, argv);
}

struct SealFlags {
  std::string directory, rotate, max_size, keep;
};

// Whether it was sealed: somebody may have been faster.
Result<bool> seal(const SealFlags& flags) {
  audit::LogOptions options{.directory = TRY(audit_directory(flags.directory))};
  if (!flags.rotate.empty()) options.rotate_bytes = TRY(parse_size(flags.rotate));
  if (!flags.max_size.empty()) options.most_bytes = TRY(parse_size(flags.max_size));
  if (!flags.keep.empty()) options.keep_ms = TRY(parse_age(flags.keep));
  audit::Log log = TRY(audit::Log::open(options));
  if (!flags.rotate.empty() && !log.is_full()) return false;
  TRY(audit::seal_and_rotate(log));
  return true;
}

int seal_log(int argc, char** argv) {
  SealFlags flags;
  Options options("audit seal", "Signs what there is and begins a new segment.");
  options.text("--dir", "DIR", &flags.directory, kWhere);
  options.text("--rotate", "SIZE", &flags.rotate,
               "only when the segment is full: larger than this, or old");
  options.text("--max-size", "SIZE", &flags.max_size,
               "and remove the oldest when all are larger than this (default 4G)");
  options.text("--keep", "AGE", &flags.keep, "or those that are older");
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    bool sealed = TRY(seal(flags));
    return show(json, Value::Object{{"sealed", sealed}}, "");
  });
}

constexpr Verb kAuditVerbs[] = {
    {"show", audit_show, "records: by sandbox, agent, kind, time and more"},
    {"tail", audit_tail, "the last records, and with -f what is recorded next"},
    {"verify", verify_log, "whether the log is what was written"},
    {"seal", seal_log, "sign what there is and begin a new segment"},
    {"key", print_key, "the public key that seals are checked with"},
    {"path", print_path, "where the log is"},
    {"rebuild", rebuild_index, "make the index again from the log"},
};

}  // namespace

Result<std::string> audit_directory(const std::string& given) {
  if (!given.empty()) return given;
  return record::log_location(TRY(store::state_directory()));
}

int audit_main(int argc, char** argv) { return run_verb("audit", kAuditVerbs, argc, argv); }

}  // namespace paddock::cli

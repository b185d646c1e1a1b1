// The audit log's readers and its one writer. Any bytes: a line is a record with its hash or is
// not; a head needs its key; a segment of any content is verified without trouble, and is damaged
// unless it is what was written. Whatever stands in an event, its record is one valid line.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "audit/head.h"
#include "audit/log.h"
#include "audit/record.h"
#include "audit/verify.h"
#include "base/fd.h"
#include "base/text.h"

using namespace paddock;

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

void write_file(const std::string& path, std::string_view bytes) {
  Result<Fd> file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  must(file && write_all(file.value().get(), bytes));
}

void fuzz_writer(std::string_view bytes) {
  size_t third = bytes.size() / 3;
  Event event;
  event.kind = bytes.substr(0, third / 2);
  event.agent = bytes.substr(third / 2, third);
  event.time_us = static_cast<int64_t>(bytes.size()) * 1'000'000'007;
  event.data.set(std::string(bytes.substr(0, third)), bytes.substr(third));
  if (Result<Value> parsed = parse_json(bytes, "data"); parsed)
    event.data.set("parsed", parsed.value());
  audit::Link last;
  std::string line;
  audit::append_record(event, last, line);
  must(line.size() <= audit::kMostRecord && line.find('\n') == line.size() - 1);
  line.pop_back();
  must(static_cast<bool>(parse_json(line, "line")));
  std::optional<audit::Record> record = audit::read_record(line);
  must(record && record->holds() && record->seq == 1 && record->hash == last.hash);
}

// A log of three records, made once; then the bytes in place of its segment or head, or behind it.
struct Place {
  std::string directory, segment, head;
  Place() {
    char path[] = "/tmp/paddock_audit_fuzz.XXXXXX";
    must(::mkdtemp(path) != nullptr);
    directory = path;
    Result<audit::Log> log = audit::Log::open({.directory = directory});
    must(static_cast<bool>(log));
    Event event;
    event.kind = "run.start";
    must(static_cast<bool>(log.value().append({event, event}, audit::Sync::none)));
    segment = read_file(directory + "/00000001.jsonl").value();
    head = read_file(directory + "/head").value();
  }
  ~Place() {
    for (const char* name : {"key", "head", "00000001.jsonl", "00000002.jsonl"})
      (void)::unlink((directory + "/" + name).c_str());
    (void)::rmdir(directory.c_str());
  }
};

void fuzz_log(uint8_t kind, std::string_view bytes) {
  static Place place;
  std::string first = place.directory + "/00000001.jsonl", head = place.directory + "/head";
  bool same = kind % 3 == 0   ? bytes == place.segment
              : kind % 3 == 1 ? bytes.empty()
                              : bytes == place.head;
  write_file(first, kind % 3 == 0   ? bytes
                    : kind % 3 == 1 ? cat(place.segment, bytes)
                                    : place.segment);
  write_file(head, kind % 3 == 2 ? bytes : place.head);
  Result<audit::Verified> verified = audit::verify({.directory = place.directory});
  must(static_cast<bool>(verified));
  bool damaged = verified.value().damage.has_value();
  must(damaged || !verified.value().notes.empty() || same);
  // Goes on behind what it finds, and records it.
  must(static_cast<bool>(audit::Log::open({.directory = place.directory})));
  verified = audit::verify({.directory = place.directory});
  must(static_cast<bool>(verified));
  must(verified.value().damage.has_value() == damaged);  // what was damaged stays so
  (void)::unlink((place.directory + "/00000002.jsonl").c_str());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  if (std::optional<audit::Record> record = audit::read_record(bytes); record && record->holds())
    must(record->seq > 0);
  must(!audit::read_heads(bytes, std::string(32, 'k')).newest());
  if (data[0] % 4 == 0)
    fuzz_writer(bytes);
  else
    fuzz_log(data[0] / 4, bytes);
  return 0;
}

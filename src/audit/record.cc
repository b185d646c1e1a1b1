#include "audit/record.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/digest.h"
#include "base/instant.h"
#include "base/text.h"

namespace paddock::audit {

namespace {

// Of an id, an agent's name and the like.
constexpr size_t kMostName = 256;

// Room for what stands beside names and data.
constexpr size_t kFrame = 512;
constexpr size_t kHashSize = 64;
constexpr std::string_view kTimeKey = ",\"time\":\"", kKindKey = "\",\"kind\":\"",
                           kPrevKey = ",\"prev\":\"", kHashKey = ",\"hash\":\"";

// As in 2026-11-16T07:00:00.123456Z.
constexpr size_t kTimeSize = 27;

// The end of the year 9999, in microseconds.
constexpr int64_t kLastTime = 253'402'300'799'999'999;

// How much of the data is kept. The measures are tried from the most generous on until one fits.
struct Measure {
  size_t text, items;
  int depth;
};
constexpr int kDeepest = 32;
constexpr Measure kMeasures[] = {{kMostRecord, SIZE_MAX, kDeepest},
                                 {4096, 128, kDeepest},
                                 {512, 32, 16},
                                 {64, 16, 8},
                                 {32, 8, 3}};

// At most `most` bytes, and how many are missing.
void append_cut(std::string_view text, size_t most, std::string& out) {
  if (text.size() <= most) return append_json_string(text, out);
  size_t end = most;
  // Not inside a character.
  while (end > 0 && most - end < 4 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  append_json_string(cat(text.substr(0, end), "[cut: ", text.size() - end, " more bytes]"), out);
}

// Writes data as JSON within a measure. It stops as soon as the room is used up, since a smaller
// measure is tried then.
class DataWriter {
 public:
  DataWriter(const Measure& measure, size_t room, std::string& out)
      : measure_(measure), end_(out.size() + room), out_(out) {}

  void write(const Value& value, int depth) {
    if (is_full()) return;
    if (auto* text = value.as_string()) return write_text(*text);
    auto* array = value.as_array();
    auto* object = value.as_object();
    if (!array && !object) {
      out_ += to_json(value);
    } else if (depth > measure_.depth) {
      has_cut_ = true;
      out_ += "\"[cut: nested too deeply]\"";
    } else if (array) {
      write_array(*array, depth);
    } else {
      write_object(*object, depth);
    }
  }
  bool is_full() const { return out_.size() > end_; }
  bool has_cut() const { return has_cut_; }

 private:
  void write_text(std::string_view text) {
    if (text.size() > measure_.text) has_cut_ = true;
    append_cut(text, measure_.text, out_);
  }

  // Says how many items are missing.
  void write_array(const Value::Array& array, int depth) {
    out_ += '[';
    size_t count = std::min(array.size(), measure_.items);
    for (size_t i = 0; i < count && !is_full(); ++i) {
      if (i) out_ += ',';
      write(array[i], depth + 1);
    }
    if (count < array.size()) {
      has_cut_ = true;
      out_ += cat(",\"[cut: ", array.size() - count, " more]\"");
    }
    out_ += ']';
  }

  // Two keys that are written the same would make a record that no strict reader accepts.
  void write_object(const Value::Object& object, int depth) {
    std::set<std::string> seen;  // as they are written: what is not UTF-8 may become the same
    out_ += '{';
    size_t left = measure_.items;
    for (const auto& [key, value] : object) {
      if (is_full()) break;
      std::string name;
      append_cut(key, std::min(measure_.text, kMostName), name);
      if (!seen.insert(name).second) continue;
      if (seen.size() > 1) out_ += ',';
      if (left-- == 0) {
        has_cut_ = true;
        out_ += "\"[cut]\":\"more keys\"";
        break;
      }
      if (key.size() > kMostName) has_cut_ = true;
      out_ += name;
      out_ += ':';
      write(value, depth + 1);
    }
    out_ += '}';
  }

  Measure measure_;
  size_t end_;
  std::string& out_;
  bool has_cut_ = false;
};

// The data, if need be less of it; whether it is less.
bool append_data(const Value& data, size_t room, std::string& out) {
  if (!data.as_object()) {
    out += "{}";
    return false;
  }
  size_t start = out.size();
  for (const Measure& measure : kMeasures) {
    DataWriter writer(measure, room, out);
    writer.write(data, 0);
    if (!writer.is_full()) return writer.has_cut();
    out.resize(start);
  }
  out += "{}";
  return true;
}

// Without a locale and without allocating: this is called for every record.
void append_number(uint64_t number, std::string& out) {
  char text[24];
  auto [end, failed] = std::to_chars(text, text + sizeof text, number);
  (void)failed;
  out.append(text, end);
}

}  // namespace

// An estimate of the bytes that a value takes, without writing it.
uint64_t weight_of(const Value& value) {
  uint64_t sum = 0;
  if (auto* text = value.as_string()) return text->size();
  if (auto* array = value.as_array())
    for (const Value& item : *array) sum += weight_of(item);
  if (auto* object = value.as_object())
    for (const auto& [key, item] : *object) sum += key.size() + weight_of(item);
  return sum;
}

// The largest measure whose result fits is used.
void append_record(const Event& event, Link& last, std::string& out) {
  size_t start = out.size();
  out += "{\"seq\":";
  append_number(++last.seq, out);
  out += kTimeKey;
  out += rfc3339(std::clamp<int64_t>(event.time_us, 0, kLastTime));
  out += kKindKey.substr(0, kKindKey.size() - 1);
  append_cut(event.kind, kMostName, out);
  auto name = [&](std::string_view key, const std::string& text) {
    if (text.empty()) return;
    out += key;
    append_cut(text, kMostName, out);
  };
  name(",\"trace\":", event.trace);
  name(",\"span\":", event.span);
  name(",\"parent\":", event.parent);
  name(",\"sandbox\":", event.sandbox);
  name(",\"tenant\":", event.tenant);
  name(",\"agent\":", event.agent);
  name(",\"verdict\":", event.verdict);
  if (event.duration_us >= 0) {
    out += ",\"duration_us\":";
    append_number(static_cast<uint64_t>(event.duration_us), out);
  }
  // Names are bounded and an escape has six characters, so that there is always room left.
  std::string data;
  if (append_data(event.data, kMostRecord - (out.size() - start) - kFrame, data)) {
    out += ",\"cut\":";
    append_number(weight_of(event.data), out);
  }
  out += ",\"data\":";
  out += data;
  out += kPrevKey;
  out += last.hash;
  out += '"';
  last.hash = to_hex(sha256_bytes(std::string_view(out).substr(start)));
  out += kHashKey;
  out += last.hash;
  out += "\"}\n";
}

// Computes the hash of the body and compares it with the one that the line claims.
bool Record::holds() const {
  std::string digest = sha256_bytes(body);
  static const char kHex[] = "0123456789abcdef";
  char text[kHashSize];
  for (size_t i = 0; i < digest.size(); ++i) {
    auto byte = static_cast<unsigned char>(digest[i]);
    text[2 * i] = kHex[byte >> 4];
    text[2 * i + 1] = kHex[byte & 15];
  }
  return hash == std::string_view(text, sizeof text);
}

// From the front: {"seq":N,"time":"…","kind":"…". From the back: ,"prev":"…","hash":"…"}. Both ends
// have fixed places, so that nothing in between can be taken for them.
std::optional<Record> read_record(std::string_view text) {
  constexpr std::string_view kStart = "{\"seq\":", kEnd = "\"}";
  constexpr size_t kTail =
      kPrevKey.size() + kHashSize + 1 + kHashKey.size() + kHashSize + kEnd.size();
  if (text.substr(0, kStart.size()) != kStart || text.size() < kStart.size() + kTail)
    return std::nullopt;
  Record line;
  const char* digits = text.data() + kStart.size();
  auto [rest, failed] = std::from_chars(digits, text.data() + text.size(), line.seq);
  if (failed != std::errc() || *digits == '0') return std::nullopt;
  std::string_view tail = text.substr(text.size() - kTail);
  line.body = text.substr(0, text.size() - kHashKey.size() - kHashSize - kEnd.size());
  line.prev = tail.substr(kPrevKey.size(), kHashSize);
  line.hash = text.substr(text.size() - kEnd.size() - kHashSize, kHashSize);
  bool shaped = tail.substr(0, kPrevKey.size()) == kPrevKey && line.body.back() == '"' &&
                tail.substr(tail.size() - kEnd.size()) == kEnd &&
                text.substr(line.body.size(), kHashKey.size()) == kHashKey;
  std::string_view front = text.substr(static_cast<size_t>(rest - text.data()),
                                       kTimeKey.size() + kTimeSize + kKindKey.size());
  if (!shaped || front.size() < kTimeKey.size() + kTimeSize + kKindKey.size() ||
      front.substr(0, kTimeKey.size()) != kTimeKey ||
      front.substr(kTimeKey.size() + kTimeSize) != kKindKey)
    return std::nullopt;
  line.time = front.substr(kTimeKey.size(), kTimeSize);
  size_t kind = static_cast<size_t>(front.data() + front.size() - text.data());
  if (kind > line.body.size()) return std::nullopt;
  line.kind = line.body.substr(kind);
  line.kind = line.kind.substr(0, line.kind.find('"'));
  return line;
}

// What can be read is returned even of a damaged line, so that it can be found and shown.
RecordSummary summarize_record(std::string_view line) {
  RecordSummary summary;
  if (line.size() >= kMostRecord) {
    summary.damage = "it is longer than any record";
    return summary;
  }
  std::optional<Record> record = read_record(line);
  if (!record)
    summary.damage = "it does not have the shape of a record";
  else if (!record->holds())
    summary.damage = "it was changed: its hash is that of another text";
  Result<Value> value = parse_json(line, "record");
  int64_t seq = value ? number_in(value.value(), "seq") : 0;
  std::string kind = value ? text_in(value.value(), "kind") : "";
  if (seq < 1 || kind.empty()) {
    if (summary.damage.empty()) summary.damage = "it is not a record";
    return summary;
  }
  summary.readable = true;
  summary.seq = static_cast<uint64_t>(seq);
  summary.kind = std::move(kind);
  Result<int64_t> time = parse_rfc3339(text_in(value.value(), "time"));
  summary.time_us = time ? time.value() : 0;
  summary.sandbox = text_in(value.value(), "sandbox");
  summary.tenant = text_in(value.value(), "tenant");
  summary.agent = text_in(value.value(), "agent");
  summary.trace = text_in(value.value(), "trace");
  summary.verdict = text_in(value.value(), "verdict");
  return summary;
}

}  // namespace paddock::audit

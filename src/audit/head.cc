#include "audit/head.h"

#include "base/digest.h"
#include "base/text.h"
#include "base/value.h"

namespace paddock::audit {

namespace {

constexpr std::string_view kMacKey = ",\"mac\":\"", kEnd = "\"}";
constexpr size_t kMacSize = 64;

// Fails for negative numbers, so that the result can be unsigned.
bool read_number(const Value& value, std::string_view key, uint64_t& out) {
  const Value* found = value.find(key);
  if (!found || !found->as_int() || *found->as_int() < 0) return false;
  out = static_cast<uint64_t>(*found->as_int());
  return true;
}

bool read_hash(const Value& value, std::string_view key, std::string& out) {
  const Value* found = value.find(key);
  if (!found || !found->as_string() || found->as_string()->size() != kNoHash.size()) return false;
  out = *found->as_string();
  return true;
}

// A mark, whole and well-formed, or nothing.
bool read_mark(const Value& value, std::string_view key, Mark& mark) {
  const Value* found = value.find(key);
  uint64_t opened = 0, ended = 0;
  bool whole =
      found && read_number(*found, "segment", mark.segment) &&
      read_number(*found, "size", mark.size) && read_number(*found, "seq", mark.last.seq) &&
      read_hash(*found, "hash", mark.last.hash) && read_number(*found, "first", mark.first) &&
      read_hash(*found, "before", mark.before) && read_number(*found, "opened_us", opened) &&
      read_number(*found, "ended", ended);
  mark.opened_us = static_cast<int64_t>(opened);
  mark.ended = ended != 0;
  return whole;
}

// A slot whose HMAC is right and which still lacks a member was written by another version.
std::optional<Head> decode(const Value& value, std::string_view role, Mark* before) {
  Head head;
  uint64_t version = 0, since = 0;
  const Value* told = value.find("role");
  const Value* boot = value.find("boot");
  bool whole = read_number(value, "version", version) && version == 1 && told &&
               told->as_string() && *told->as_string() == role && boot && boot->as_string() &&
               read_number(value, "generation", head.generation) &&
               read_number(value, "synced", head.synced.seq) &&
               read_hash(value, "synced_hash", head.synced.hash) &&
               read_number(value, "retired", head.retired) &&
               read_number(value, "missing", head.missing) &&
               read_number(value, "missing_since_us", since) && read_mark(value, "end", head) &&
               (!before || read_mark(value, "before", *before));
  if (!whole) return std::nullopt;
  head.boot = *boot->as_string();
  head.missing_since_us = static_cast<int64_t>(since);
  return head;
}

// Written by hand, because the HMAC is over these exact bytes.
std::string text_of(const Mark& mark) {
  return cat("{\"segment\":", mark.segment, ",\"size\":", mark.size, ",\"seq\":", mark.last.seq,
             ",\"hash\":\"", mark.last.hash, "\",\"first\":", mark.first, ",\"before\":\"",
             mark.before, "\",\"opened_us\":", mark.opened_us, ",\"ended\":", mark.ended ? 1 : 0,
             "}");
}

// The role is under the HMAC too, so that one slot cannot stand in for the other.
std::string encode_slot(const Head& head, const Mark* before, std::string_view mac_key) {
  std::string slot =
      cat("{\"version\":1,\"role\":\"", before ? "intent" : "done",
          "\",\"generation\":", head.generation, ",\"boot\":\"", head.boot,
          "\",\"synced\":", head.synced.seq, ",\"synced_hash\":\"", head.synced.hash,
          "\",\"retired\":", head.retired, ",\"missing\":", head.missing,
          ",\"missing_since_us\":", head.missing_since_us, ",\"end\":", text_of(head));
  if (before) slot += cat(",\"before\":", text_of(*before));
  slot += cat(kMacKey, to_hex(hmac_sha256(mac_key, slot)), kEnd);
  slot.resize(kSlotSize - 1, ' ');
  slot += '\n';
  return slot;
}

// The HMAC is checked before the JSON is parsed, so that nothing hostile reaches the parser.
std::optional<Head> decode_slot(std::string_view slot, std::string_view role, Mark* before,
                                std::string_view mac_key) {
  if (slot.size() != kSlotSize || slot.back() != '\n') return std::nullopt;
  std::string_view text = slot.substr(0, slot.find_last_not_of(" \n") + 1);
  size_t tail = kMacKey.size() + kMacSize + kEnd.size();
  if (text.size() < tail) return std::nullopt;
  std::string_view body = text.substr(0, text.size() - tail),
                   mac = text.substr(body.size() + kMacKey.size(), kMacSize);
  if (text.substr(body.size(), kMacKey.size()) != kMacKey ||
      text.substr(text.size() - kEnd.size()) != kEnd)
    return std::nullopt;
  if (!same_secret(mac, to_hex(hmac_sha256(mac_key, body)))) return std::nullopt;
  Result<Value> value = parse_json(cat(body, "}"), "head");
  return value ? decode(value.value(), role, before) : std::nullopt;
}

}  // namespace

std::string encode_intent(const Head& after, const Mark& before, std::string_view mac_key) {
  return encode_slot(after, &before, mac_key);
}
std::string encode_done(const Head& head, std::string_view mac_key) {
  return encode_slot(head, nullptr, mac_key);
}

Heads read_heads(std::string_view file, std::string_view mac_key) {
  Heads heads;
  if (file.size() != kHeadSize) return heads;
  heads.intent = decode_slot(file.substr(kIntentAt, kSlotSize), "intent", &heads.before, mac_key);
  heads.done = decode_slot(file.substr(kDoneAt, kSlotSize), "done", nullptr, mac_key);
  return heads;
}

// Both slots describe the same end: nothing is under way.
bool Heads::settled() const {
  return intent && done && intent->generation == done->generation &&
         static_cast<const Mark&>(*intent) == static_cast<const Mark&>(*done);
}

// An append was announced after the last one that is finished.
bool Heads::under_way() const {
  return intent && done && intent->generation == done->generation + 1 &&
         before == static_cast<const Mark&>(*done);
}

const Head* Heads::newest() const {
  if (intent && done) return intent->generation > done->generation ? &*intent : &*done;
  return intent ? &*intent : done ? &*done : nullptr;
}

// If `done` is torn, the end before the announced append is what was last acknowledged.
Mark Heads::finished() const {
  if (done && (!intent || done->last.seq >= before.last.seq)) return *done;
  return before;
}

Link Heads::synced() const {
  if (intent && done) return intent->synced.seq > done->synced.seq ? intent->synced : done->synced;
  return intent ? intent->synced : done ? done->synced : Link();
}

}  // namespace paddock::audit

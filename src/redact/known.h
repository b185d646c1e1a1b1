// Removes known secret values from a stream, also when one is split over chunks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace paddock::redact {

class KnownValues {
 public:
  // name → value; values shorter than four bytes would hit ordinary text and are left alone.
  explicit KnownValues(const std::map<std::string, std::string>& secrets);

  // What may be shown of `chunk` and of what was held back before. Holds back only what could still become a value.
  std::string feed(std::string_view chunk);
  std::string finish();
  uint64_t count() const { return count_; }

 private:
  std::string scan(bool at_end);

  struct Secret {
    std::string value, replacement;
  };
  std::vector<Secret> secrets_;  // longest first
  std::string held_;
  uint64_t count_ = 0;
};

}  // namespace paddock::redact
